"""A registry of meters collects values of the step; each update adds to a sum on the device."""

from collections import defaultdict

import torch
from torch import nn


class Mean:
    def __init__(self):
        self.total = torch.zeros((), device="cuda")
        self.count = torch.zeros((), device="cuda")

    def update(self, value):
        self.total.add_(value.detach())
        self.count.add_(1.0)

    def compute(self):
        return (self.total / self.count).item()


class Accuracy(Mean):
    def update(self, pair):
        logits, labels = pair
        super().update((logits.argmax(-1) == labels).float().mean())


METERS = {"loss": Mean, "accuracy": Accuracy}


class Board:
    def __init__(self):
        self.meters = defaultdict(Mean)
        for name, cls in METERS.items():
            self.meters[name] = cls()

    def log(self, **values):
        for name, value in values.items():
            self.meters[name].update(value)


class Job:
    def __init__(self, net, n, dim):
        self.net, self.board = net, Board()
        self.x = torch.zeros(n, dim, device="cuda")
        self.y = torch.zeros(n, dtype=torch.int64, device="cuda")

    def batch(self):
        self.net.zero_grad(set_to_none=True)
        logits = self.net(self.x)
        loss = nn.functional.cross_entropy(logits, self.y)
        loss.backward()
        self.board.log(loss=loss, accuracy=(logits, self.y))
        return loss

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.batch()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.batch()


def main():
    job = Job(nn.Linear(8, 3).cuda(), 16, 8)
    job.record()
    return job
