"""Symptom: the factory makes a position tensor for the capture and returns only the graph, the input and
the output; the positions are freed and their block serves the next allocation.
"""

from collections.abc import Callable

import torch
import torch.nn as nn


class RotaryBlock(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.register_buffer("freq", torch.ones(width))

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return self.lin(x) * torch.cos(positions[:, None] * self.freq)


def record(block: RotaryBlock, batch: int, width: int):
    x = torch.zeros(batch, width, device="cuda")
    positions = torch.arange(batch, device="cuda", dtype=torch.float32)  # HAZARD: stale-pointer
    with torch.no_grad():
        for _ in range(2):
            block(x, positions)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = block(x, positions)
    return graph, x, y


def compile_blocks(
    blocks: list[RotaryBlock], batch: int, width: int
) -> list[Callable[[torch.Tensor], torch.Tensor]]:
    steps = []
    for block in blocks:
        graph, x, y = record(block.cuda(), batch, width)

        def step(new: torch.Tensor, graph=graph, x=x, y=y) -> torch.Tensor:
            x.copy_(new)
            graph.replay()
            return y.clone()

        steps.append(step)
    return steps


def run(blocks: list[RotaryBlock], inputs: list[torch.Tensor], batch: int, width: int) -> torch.Tensor:
    steps = compile_blocks(blocks, batch, width)
    x = inputs[0].cuda()
    for step in steps:
        x = step(x)
    return x
