"""Stochastic depth decides with Python's random module which layers to skip; the decision of the capture is
the one of every replay."""

import random

import torch
from torch import nn


class DroppedStack(nn.Module):
    def __init__(self, width, depth, drop=0.2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.drop = drop

    def forward(self, x):
        for layer in self.layers:
            if self.training and random.random() < self.drop:  # HAZARD: side-effect, frozen-scalar
                continue
            x = x + torch.relu(layer(x))
        return x


def capture_step(net, x):
    def step():
        net.zero_grad(set_to_none=True)
        loss = net(x).pow(2).mean()
        loss.backward()
        return loss

    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(s)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return graph, loss


def train(loader, width=128):
    net = DroppedStack(width, 12).cuda()
    x = torch.zeros(32, width, device="cuda")
    graph, loss = capture_step(net, x)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for batch in loader:
        x.copy_(batch)
        graph.replay()
        opt.step()
    return loss.item()
