"""Each stage makes a new optimizer with another rate; and drops the graph, so that the next step is
captured with it."""

import torch
from torch import nn


class Stage:
    def __init__(self, lr, steps):
        self.lr, self.steps = lr, steps


STAGES = (Stage(1e-3, 100), Stage(1e-4, 100))


class Trainer:
    def __init__(self, net, n, dim):
        self.net = net
        self.x = torch.zeros(n, dim, device="cuda")
        self.graph = None

    def begin(self, lr):
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr, capturable=True)
        self.graph = None

    def iteration(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.iteration()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.loss = self.iteration()
        self.graph.replay()


def train(loader, stages=STAGES):
    trainer = Trainer(nn.Linear(8, 8).cuda(), 16, 8)
    for stage in stages:
        trainer.begin(stage.lr)
        for _, x in zip(range(stage.steps), loader, strict=False):
            trainer.step(x)
