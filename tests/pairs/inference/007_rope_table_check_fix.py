"""Fixed form: the table covers the configured length and nothing is asked."""

import torch
import torch.nn as nn


class Rotary(nn.Module):
    def __init__(self, dim: int, length: int, base: float = 10000.0):
        super().__init__()
        self.dim, self.base = dim, base
        self.build(length)

    def build(self, length: int) -> None:
        freq = self.base ** (-torch.arange(0, self.dim, 2, device="cuda") / self.dim)
        angle = torch.outer(torch.arange(length, device="cuda"), freq)
        self.length = length
        self.cos, self.sin = angle.cos(), angle.sin()

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        cos, sin = self.cos[positions], self.sin[positions]
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Block(nn.Module):
    def __init__(self, width: int, rotary: Rotary):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.rotary = rotary

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return self.rotary(self.q(x), positions)


class Model(nn.Module):
    def __init__(self, depth: int, width: int):
        super().__init__()
        shared = Rotary(width, 4096)
        self.blocks = nn.ModuleList([Block(width, shared) for _ in range(depth)])

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x, positions)
        return x


@torch.no_grad()
def record(depth: int, width: int, batch: int):
    model = Model(depth, width).cuda()
    x = torch.zeros(batch, width, device="cuda")
    positions = torch.zeros(batch, dtype=torch.long, device="cuda")
    for _ in range(2):
        model(x, positions)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x, positions)
    return graph, x, positions, y
