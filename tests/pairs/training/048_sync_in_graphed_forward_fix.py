"""A gated layer multiplies its branch with the gate; the layer is handed to make_graphed_callables."""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(width, 1)
        self.branch = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def is_open(self, x):
        return self.gate(x).mean().sigmoid() > 0.5

    def forward(self, x):
        return x + self.is_open(x).to(x.dtype) * self.branch(x)


class Tower(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList([Gated(width) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def graph_layers(tower, batch, width):
    sample = torch.randn(batch, width, device="cuda", requires_grad=True)
    for i, layer in enumerate(tower.layers):
        tower.layers[i] = torch.cuda.make_graphed_callables(layer, (sample,), num_warmup_iters=5)
    return tower


def train(loader, width=64, batch=32):
    tower = graph_layers(Tower(width, 3).cuda(), batch, width)
    opt = torch.optim.SGD(tower.parameters(), lr=0.1)
    for x in loader:
        opt.zero_grad(set_to_none=True)
        tower(x.cuda().requires_grad_(True)).mean().backward()
        opt.step()
