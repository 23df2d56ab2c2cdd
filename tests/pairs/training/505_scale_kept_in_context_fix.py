"""Drawn from custom autograd functions of quantised training.

Fix: the scale is saved as a tensor.
"""

from __future__ import annotations

import torch
from torch import nn


class RoundToInt8(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, levels: int) -> torch.Tensor:
        scale = x.abs().amax() / levels
        ctx.save_for_backward(x, scale)
        return torch.round(x / scale).clamp(-levels, levels) * scale

    @staticmethod
    def backward(ctx, grad: torch.Tensor):
        x, scale = ctx.saved_tensors
        inside = x.abs() <= 127 * scale
        return grad * inside, None


class QuantLinear(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, RoundToInt8.apply(self.weight, 127), self.bias)


class QuantNet(nn.Module):
    def __init__(self, width: int, classes: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([QuantLinear(width, width) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer, norm in zip(self.layers, self.norms):
            x = x + torch.relu(layer(norm(x)))
        return self.head(x)


def make_step(net, optimizer, x, y):
    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def warmed(step, times: int = 3) -> torch.cuda.Stream:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(times):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    return stream


def main(loader, width: int = 128, classes: int = 10) -> float:
    net = QuantNet(width, classes, depth=4).cuda()
    optimizer = torch.optim.NAdam(net.parameters(), lr=1e-3, capturable=True)
    x = torch.zeros(256, width, device="cuda")
    y = torch.zeros(256, dtype=torch.long, device="cuda")
    step = make_step(net, optimizer, x, y)
    stream = warmed(step)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        loss = step()
    for features, labels in loader:
        x.copy_(features)
        y.copy_(labels)
        graph.replay()
    return loss.item()
