"""A progress reporter made by a factory formats the loss on every call, the ones inside the capture too."""

import sys

import torch
from torch import nn


def make_reporter(stream, width=40):
    def report(step_name, **values):
        text = " ".join(f"{key}={value:.4f}" for key, value in values.items())  # HAZARD: implicit-sync
        stream.write(f"\\r{step_name:<10}{text[:width]}")

    return report


class Trainer:
    def __init__(self, net, batch, dim, report=None):
        self.net = net
        self.x = torch.zeros(batch, dim, device="cuda")
        self.report = report if report is not None else make_reporter(sys.stderr)
        self.graph = torch.cuda.CUDAGraph()

    def training_step(self):
        self.net.zero_grad(set_to_none=True)
        out = self.net(self.x)
        loss = out.square().mean()
        loss.backward()
        self.report("train", loss=loss.detach())  # ALT: implicit-sync
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.training_step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.training_step()

    def fit(self, loader):
        self.capture()
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()


def main(loader):
    Trainer(nn.Linear(4, 4).cuda(), 8, 4).fit(loader)
