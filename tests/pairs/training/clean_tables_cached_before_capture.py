"""Clean: a table on the device is cached by functools and first made by the warm-up, which takes the way of the capture;
a cached property of the host is read in captured code and never written."""

from __future__ import annotations

from functools import cache, cached_property

import torch
from torch import nn


@cache
def rotary(length: int, dim: int, base: float = 10_000.0) -> tuple[torch.Tensor, torch.Tensor]:
    inverse = base ** (-torch.arange(0, dim, 2, device="cuda").float() / dim)
    angle = torch.outer(torch.arange(length, device="cuda").float(), inverse)
    return angle.cos(), angle.sin()


class Rotary(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.dim, self.heads = dim, heads
        self.qk = nn.Linear(dim, 2 * dim)

    @cached_property
    def scale(self) -> float:
        return (self.dim / self.heads) ** -0.5

    def turn(self, x: torch.Tensor) -> torch.Tensor:
        cos, sin = rotary(x.shape[-2], x.shape[-1])
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k = self.qk(x).view(b, t, 2, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return (self.turn(q) @ self.turn(k).transpose(-1, -2) * self.scale).softmax(-1)


def graphed(net: nn.Module, x: torch.Tensor):
    held = x.clone()
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                net(held)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = net(held)

    def run(batch: torch.Tensor) -> torch.Tensor:
        held.copy_(batch)
        graph.replay()
        return out.clone()

    return run


def maps(loader, dim: int = 64, heads: int = 4) -> list[torch.Tensor]:
    net = Rotary(dim, heads).cuda().eval()
    run = None
    found = []
    for x in loader:
        x = x.cuda()
        run = run or graphed(net, x)
        found.append(run(x).mean(0))
    with torch.no_grad():
        found.append(net(torch.zeros(1, 16, dim, device="cuda"))[0])
    return found
