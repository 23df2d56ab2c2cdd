"""What the graph has written is what the graph returned; the ring is only taken from."""

import itertools

import torch
import torch.nn as nn


class Workspaces:
    """Two buffers used in turn, so that a slow peer may still read the last one."""

    def __init__(self, rows: int, width: int):
        self.buffers = [torch.zeros(rows, width, device="cuda") for _ in range(2)]
        self.ring = itertools.cycle(self.buffers)

    def take(self) -> torch.Tensor:
        return next(self.ring)


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
            self.y = self.layer(self.x)

    @torch.inference_mode()
    def decode(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    @torch.inference_mode()
    def prefill(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.layer(part).clone() for part in x.split(self.x.shape[0])])
