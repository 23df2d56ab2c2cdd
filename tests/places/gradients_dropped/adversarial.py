"""Two networks, one of them in a graph; and a callback that clears."""

import torch
from torch import nn


def discriminate(batches):
    generator, critic = nn.Linear(8, 8).cuda(), nn.Linear(8, 1).cuda()
    g_step = torch.optim.SGD(generator.parameters(), lr=0.1)
    c_step = torch.optim.SGD(critic.parameters(), lr=0.1)
    x = torch.zeros(4, 8, device="cuda")
    generator(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        generator(x).mean().backward()
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        g_step.step()
        c_step.zero_grad()  # ok: CG802
        critic(x).mean().backward()
        c_step.step()
        g_step.zero_grad(True)  # expect: CG802


class Loop:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.before = [self.clear]
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.net(self.x).mean().backward()

    def clear(self):
        self.optimizer.zero_grad(set_to_none=True)  # expect: CG802

    def run(self, batches):
        for batch in batches:
            for callback in self.before:
                callback()
            self.x.copy_(batch)
            self.graph.replay()
            self.optimizer.step()


def clipped(net: nn.Module, batches):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.zeros(8, 8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = None  # expect: CG802


def again(net: nn.Module, batches):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.zeros(8, 8, device="cuda")
    net(x)
    for batch in batches:
        optimizer.zero_grad()  # ok: CG802
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            net(x).mean().backward()
        x.copy_(batch)
        graph.replay()
        optimizer.step()


def shown(net: nn.Module):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.zeros(8, 8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()
    optimizer.zero_grad()  # graphlint: ignore[CG802] -- the test looks at the loss only
    graph.replay()
    optimizer.step()
