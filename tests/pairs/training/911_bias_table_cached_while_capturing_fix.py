"""Drawn from attention layers that cache position tables with functools (compare ALiBi helpers of language models).

Fixed: the warm-up takes the same way as the capture and fills the cache.
"""

from __future__ import annotations

import functools

import torch
from torch import nn


@functools.lru_cache(maxsize=8)
def alibi(heads: int, length: int) -> torch.Tensor:
    slopes = torch.pow(2.0, -torch.arange(1, heads + 1, device="cuda") * 8.0 / heads)
    distance = torch.arange(length, device="cuda").view(1, -1) - torch.arange(length, device="cuda").view(
        -1, 1
    )
    return slopes.view(-1, 1, 1) * distance.clamp(max=0).unsqueeze(0)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor, with_positions: bool = True) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
        if with_positions:
            scores = scores + alibi(self.heads, t)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


class Runner:
    def __init__(self, dim: int = 64, heads: int = 8, length: int = 128, batch: int = 4) -> None:
        self.net = Attention(dim, heads).cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.x = torch.randn(batch, length, dim, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def step(self, with_positions: bool) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x, with_positions).square().mean()
        loss.backward()
        self.opt.step()
        return loss.detach()

    def record(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step(with_positions=True)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.step(with_positions=True)

    @torch.no_grad()
    def validate(self, x: torch.Tensor) -> float:
        return self.net(x).square().mean().item()


def main(batches, held_out) -> None:
    runner = Runner()
    runner.record()
    for number, x in enumerate(batches):
        runner.x.copy_(x)
        runner.graph.replay()
        if number % 100 == 0:
            print(runner.validate(held_out), runner.loss.item())
