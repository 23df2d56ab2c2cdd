"""A positional table is a plain attribute, so `.cuda()` on the module leaves it on the host and each
forward moves the rows that it needs."""

import math

import torch
from torch import nn


def sinusoid(length, width):
    position = torch.arange(length).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table


class Positional(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.table = sinusoid(length, width)

    def forward(self, x):
        rows = self.table[: x.shape[1]].to(x.device)  # HAZARD: pageable-copy
        return x + rows


class Model(nn.Module):
    def __init__(self, width=64, length=512):
        super().__init__()
        self.pos = Positional(length, width)
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        return self.mix(self.pos(x))


def capture(model, batch, steps, width):
    x = torch.zeros(batch, steps, width, device="cuda")

    def run():
        model.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        loss.backward()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = run()
    return graph, x, loss


def main():
    return capture(Model().cuda(), 4, 128, 64)
