"""Captured steps over the layers."""

import random

import torch
from seeding import Replayed, Reproducible


class Trainer:
    def __init__(self, width: int):
        torch.cuda.manual_seed(3)  # ok: CG505
        self.first = Reproducible(width, 3).cuda()
        self.second = Replayed(width).cuda()
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def step(self):
        return self.second(self.first(self.x)).mean()

    def run(self, batches):
        for number, batch in enumerate(batches):
            torch.manual_seed(number)  # ok: CG505
            self.x.copy_(batch)
            self.graph.replay()
        return torch.cuda.get_rng_state()  # ok: CG505


class Evaluator:
    def __init__(self, width: int):
        self.net = torch.nn.Linear(width, width).cuda()
        self.generator = torch.Generator(device="cuda")
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        self.generator.manual_seed(1)  # ok: CG505
        random.seed(1)  # ok: CG505
        with torch.cuda.graph(self.graph):
            with torch.random.fork_rng():  # expect: CG505
                self.y = self.net(self.x) + torch.randn_like(self.x)
            self.generator.manual_seed(2)  # expect: CG505
            torch.seed()  # graphlint: ignore[CG505] -- raises, and the test says so

    def run(self):
        self.generator.manual_seed(2)  # ok: CG505
        self.graph.replay()
        return self.y.clone()
