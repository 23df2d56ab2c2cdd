"""Symptom: packed sequences are cut apart with split(), whose sizes come from a device tensor."""

import torch
import torch.nn as nn


def unpack(packed: torch.Tensor, lens: torch.Tensor) -> list[torch.Tensor]:
    return list(packed.split(lens.tolist(), dim=0))  # HAZARD: sync-in-capture


class Pooler(nn.Module):
    def __init__(self, width: int, method: str = "mean"):
        super().__init__()
        self.out = nn.Linear(width, width)
        self.reduce = {"mean": self._mean, "first": self._first}[method]

    def _mean(self, packed: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        return torch.stack([part.mean(0) for part in unpack(packed, lens)])

    def _first(self, packed: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        return packed[lens.cumsum(0) - lens]

    def forward(self, packed: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        return self.out(self.reduce(packed, lens))


class EmbeddingGraph:
    def __init__(self, width: int, tokens: int, rows: int):
        self.pooler = Pooler(width).cuda()
        self.packed = torch.zeros(tokens, width, device="cuda")
        self.lens = torch.full((rows,), tokens // rows, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self) -> None:
        with torch.no_grad():
            for _ in range(3):
                self.pooler(self.packed, self.lens)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.pooled = self.pooler(self.packed, self.lens)

    def __call__(self, packed: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        self.packed.zero_()
        self.packed[: packed.shape[0]].copy_(packed)
        self.lens.copy_(lens)
        self.graph.replay()
        return self.pooled.clone()
