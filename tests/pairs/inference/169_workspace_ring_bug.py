"""After symmetric-memory all-reduce with alternating workspaces.

Symptom: captured code takes the next workspace of a ring at each call, and so does the eager reader. Replays
never advance the ring, the reader does: after the first step it looks at the wrong workspace.
"""

import itertools

import torch
import torch.nn as nn


class Workspaces:
    """Two buffers used in turn, so that a slow peer may still read the last one."""

    def __init__(self, rows: int, width: int):
        self.buffers = [torch.zeros(rows, width, device="cuda") for _ in range(2)]
        self.ring = itertools.cycle(self.buffers)
        self.last = self.buffers[0]

    def take(self) -> torch.Tensor:
        self.last = next(self.ring)  # HAZARD: side-effect, rebind-static-input
        return self.last


class ReducedLinear(nn.Module):
    def __init__(self, width: int, spaces: Workspaces):
        super().__init__()
        self.shard = nn.Linear(width, width, bias=False, device="cuda")
        self.spaces = spaces

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.spaces.take()
        out.copy_(self.shard(x))
        return out


class TensorParallelStep:
    def __init__(self, layer: ReducedLinear, spaces: Workspaces, rows: int, width: int):
        self.layer, self.spaces = layer, spaces
        self.x = torch.zeros(rows, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.layer(self.x)

    @torch.inference_mode()
    def decode(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.spaces.last.clone()

    @torch.inference_mode()
    def prefill(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.layer(part).clone() for part in x.split(self.x.shape[0])])
