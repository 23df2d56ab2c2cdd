"""Every few hundred steps training goes on from the averaged weights, which are installed through `.data`;
the captured step keeps updating and reading the memory from before."""

import torch
from torch import nn


class WeightAverage:
    def __init__(self, module, decay=0.999):
        self.module, self.decay = module, decay
        self.shadow = [p.detach().clone() for p in module.parameters()]

    @torch.no_grad()
    def update(self):
        for mean, p in zip(self.shadow, self.module.parameters(), strict=True):
            mean.lerp_(p, 1.0 - self.decay)

    @torch.no_grad()
    def adopt(self):
        for mean, p in zip(self.shadow, self.module.parameters(), strict=True):
            p.data = mean.clone()  # HAZARD: stale-pointer


class Trainer:
    def __init__(self, module, x, every=500):
        self.module, self.x, self.every = module, x.clone(), every
        self.average = WeightAverage(module)
        self.opt = torch.optim.SGD(module.parameters(), lr=0.05)
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(s)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.module(self.x).pow(2).mean()
        loss.backward()
        self.opt.step()
        return loss

    def fit(self, loader):
        for i, x in enumerate(loader):
            self.x.copy_(x)
            self.graph.replay()
            self.average.update()
            if i % self.every == self.every - 1:
                self.average.adopt()


def main(loader):
    Trainer(nn.Linear(8, 8).cuda(), torch.zeros(4, 8, device="cuda")).fit(loader)
