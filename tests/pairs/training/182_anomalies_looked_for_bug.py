"""A switch of the settings turns anomaly detection on around the whole step; its check of every gradient reads a
flag of the device."""

import contextlib
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    lr: float = 0.1
    detect_anomaly: bool = False


class Engine:
    def __init__(self, net, settings, shape):
        self.net, self.settings = net, settings
        self.x = torch.zeros(shape, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=settings.lr)

    def guard(self):
        if self.settings.detect_anomaly:
            return torch.autograd.detect_anomaly()  # ALT: implicit-sync
        return contextlib.nullcontext()

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        with self.guard():  # ALT: implicit-sync
            loss = self.net(self.x).square().mean()
            loss.backward()  # HAZARD: implicit-sync
        self.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()


def main():
    engine = Engine(nn.Linear(8, 8).cuda(), Settings(detect_anomaly=True), (4, 8))
    engine.capture()
    return engine
