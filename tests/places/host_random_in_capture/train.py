"""Captured steps over random layers, with mixing of samples."""

import random
import time

import numpy as np
import torch
from layers import LayerDrop, Noisy


def mixed(x: torch.Tensor) -> torch.Tensor:
    share = np.random.beta(0.2, 0.2)  # expect: CG404
    return share * x + (1 - share) * x.flip(0)


class Trainer:
    def __init__(self, width: int):
        self.drop = LayerDrop(width, 4, 0.1).cuda()
        self.noisy = Noisy(3).cuda()
        self.x = torch.zeros(8, width, device="cuda")
        self.clock = torch.zeros((), device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def step(self):
        self.clock.fill_(time.time())  # expect: CG404
        out = self.noisy(self.drop(mixed(self.x)))
        start = random.randrange(4)  # expect: CG404
        chosen = random.choice(["mean", "sum"])  # graphlint: ignore[CG404] -- both give the same here
        return out[start].mean() if chosen == "mean" else out[start].sum()

    def run(self, loader):
        order = list(range(len(loader)))
        random.shuffle(order)  # ok: CG404
        for index in order:
            self.x.copy_(loader[index])
            self.graph.replay()
