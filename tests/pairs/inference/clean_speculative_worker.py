"""Clean: two graphs of one pool are replayed in turn, each result is copied before the other graph runs;
warm-up runs are configured, accepted tokens are counted on the device and read at the end."""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class Options:
    warmups: int = 3
    depth: int = 4
    batch: int = 8
    width: int = 64


class Captured:
    def __init__(self, fn, x: torch.Tensor, options: Options, pool):
        self.x = x
        for _ in range(options.warmups):
            fn(x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.out = fn(x)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.out.clone()


class Worker:
    def __init__(self, draft: nn.Module, target: nn.Module, options: Options = Options()):
        self.options = options
        self.accepted = torch.zeros(options.batch, dtype=torch.long, device="cuda")
        pool = torch.cuda.graph_pool_handle()
        with torch.inference_mode():
            wide = torch.zeros(options.batch * options.depth, options.width, device="cuda")
            self.target = Captured(target, wide, options, pool)
            self.draft = Captured(
                draft, torch.zeros(options.batch, options.width, device="cuda"), options, pool
            )

    @torch.inference_mode()
    def step(self, hidden: torch.Tensor) -> torch.Tensor:
        guesses = []
        for _ in range(self.options.depth):
            hidden = self.draft(hidden)
            guesses.append(hidden)
        stacked = torch.stack(guesses, dim=1)
        checked = self.target(stacked.flatten(0, 1)).view_as(stacked)
        same = (stacked.argmax(-1) == checked.argmax(-1)).long().cumprod(1)
        self.accepted += same.sum(1)
        return checked[:, -1]

    def rate(self, steps: int) -> float:
        return self.accepted.float().mean().item() / (steps * self.options.depth)
