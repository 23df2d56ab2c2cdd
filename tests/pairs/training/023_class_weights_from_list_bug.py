"""The loss builds its class weights from a Python list inside the captured step: a copy from pageable
memory."""

import torch
from torch import nn


class WeightedLoss:
    def __init__(self, frequencies):
        total = sum(frequencies)
        self.weights = [total / f for f in frequencies]

    def __call__(self, logits, labels):
        weight = torch.tensor(self.weights, device=logits.device)  # HAZARD: pageable-copy
        return nn.functional.cross_entropy(logits, labels, weight=weight)


class Engine:
    def __init__(self, net, criterion, batch, dim):
        self.net, self.criterion = net, criterion
        self.x = torch.zeros(batch, dim, device="cuda")
        self.y = torch.zeros(batch, dtype=torch.int64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        for p in self.net.parameters():
            p.grad = None
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
        self.graph.capture_begin()
        self.loss = self.step()
        self.graph.capture_end()


def main():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        engine = Engine(nn.Linear(16, 3).cuda(), WeightedLoss([10, 20, 70]), 32, 16)
        engine.capture()
    return engine
