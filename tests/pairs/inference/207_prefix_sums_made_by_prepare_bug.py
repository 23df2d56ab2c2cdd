"""After attention implementations that prepare themselves for recorded batches.

Symptom: preparing without reallocation keeps the wrapper's buffers, but the prefix sums of the derived class are
made anew and the recorded copy kernels go on with the old ones.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class FlashImplementation:
    def __init__(self, most: int):
        self.lengths = torch.zeros(most, dtype=torch.int32, device="cuda")

    def prepare(self, lengths: torch.Tensor, forbid_realloc: bool = False) -> None:
        if not forbid_realloc:
            self.lengths = torch.zeros_like(self.lengths)
        self.lengths.zero_()
        self.lengths[: lengths.shape[0]].copy_(lengths)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class PrefillImplementation(FlashImplementation):
    def __init__(self, most: int):
        super().__init__(most)
        self.starts = torch.zeros(most + 1, dtype=torch.int32, device="cuda")

    def prepare(self, lengths: torch.Tensor, forbid_realloc: bool = False) -> None:
        super().prepare(lengths, forbid_realloc)
        self.starts = torch.empty(
            self.lengths.shape[0] + 1, dtype=torch.int32, device="cuda"
        )  # HAZARD: rebind-static-input
        self.starts[0] = 0
        self.starts[1:].copy_(self.lengths.cumsum(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        row = torch.bucketize(torch.arange(x.shape[0], device=x.device), self.starts, right=True)
        return x * row[:, None]


class GraphParams:
    def __init__(self, implementation: FlashImplementation, tokens: int, width: int):
        self.implementation = implementation
        self.hidden = torch.zeros(tokens, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()


class CudaGraphRunner:
    def __init__(self, norm: nn.LayerNorm, most: int, width: int, buckets: tuple[int, ...] = (512, 256, 128)):
        self.norm = norm
        self.params = {size: GraphParams(PrefillImplementation(most), size, width) for size in buckets}

    def _forward(self, params: GraphParams) -> torch.Tensor:
        return self.norm(params.implementation.forward(params.hidden))

    @torch.no_grad()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for size, params in self.params.items():
            params.implementation.prepare(torch.full((1,), size, dtype=torch.int32, device="cuda"))
            for _ in range(2):
                self._forward(params)
            torch.cuda.synchronize()
            with torch.cuda.graph(params.graph, pool=pool):
                params.out = self._forward(params)

    def forward(self, hidden: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        n = hidden.shape[0]
        params = self.params[min(size for size in self.params if size >= n)]
        params.hidden.zero_()
        params.hidden[:n].copy_(hidden)
        params.implementation.prepare(lengths, forbid_realloc=True)
        params.graph.replay()
        return params.out[:n].clone()
