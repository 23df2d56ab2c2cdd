"""The criterion reports its terms to the logging module at INFO level, which prints the tensors while the step
is captured."""

import logging

import torch
from torch import nn

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("criterion")


class Criterion:
    def __init__(self, weights):
        self.weights = weights

    def terms(self, pred, target):
        yield "l1", (pred - target).abs().mean()
        yield "l2", (pred - target).square().mean()

    def __call__(self, pred, target):
        total = pred.new_zeros(())
        for name, value in self.terms(pred, target):
            log.info("%s: %s %s", name, tuple(value.shape), value.dtype)
            total = total + self.weights[name] * value
        return total


class Regression:
    def __init__(self, net, criterion, batch, width):
        self.net, self.criterion = net, criterion
        self.x = torch.zeros(batch, width, device="cuda")
        self.y = torch.zeros(batch, width, device="cuda")

    def step(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.criterion(self.net(self.x), self.y)
        loss.backward()
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
    job = Regression(nn.Linear(8, 8).cuda(), Criterion({"l1": 1.0, "l2": 0.5}), 4, 8)
    job.capture()
    return job
