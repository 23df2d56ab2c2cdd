"""After a model that frees memory when little is left.

Fixed form: the check does nothing while the stream is capturing.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class MemoryGuard:
    def __init__(self, least: float = 0.05):
        self.least = least

    def check(self) -> None:
        if torch.cuda.is_current_stream_capturing():
            return
        free, total = torch.cuda.mem_get_info()
        if free / total < self.least:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()


class GuardedBlock(nn.Module):
    def __init__(self, width: int, guard: MemoryGuard):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.guard = guard

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.nn.functional.gelu(self.up(x))
        self.guard.check()
        return x + self.down(h)


class Captioner:
    def __init__(self, depth: int, width: int, batch: int):
        guard = MemoryGuard()
        self.blocks = nn.Sequential(*[GuardedBlock(width, guard) for _ in range(depth)]).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def record(self) -> None:
        for _ in range(2):
            self.blocks(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.blocks(self.x)

    def caption(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
