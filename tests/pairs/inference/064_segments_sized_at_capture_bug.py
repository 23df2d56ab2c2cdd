"""Symptom: tokens are sorted into one segment per adapter, and the loop over segments runs as often as
the dummy batch had segments; with more adapters in a batch the rest get no adapter at all.
"""

import torch
import torch.nn as nn


class SegmentInfo:
    def __init__(self, max_segments: int, tokens: int):
        self.starts = torch.zeros(max_segments + 1, dtype=torch.long, device="cuda")
        self.adapter = torch.zeros(max_segments, dtype=torch.long, device="cuda")
        self.order = torch.arange(tokens, device="cuda")
        self.num_segments = 1


class ChunkedBackend:
    def __init__(self, max_segments: int, tokens: int):
        self.info = SegmentInfo(max_segments, tokens)

    def prepare(self, adapters: list[int]) -> None:
        ordered = sorted(range(len(adapters)), key=adapters.__getitem__)
        found = sorted(set(adapters))
        counts = [adapters.count(a) for a in found]
        bounds = [0]
        for c in counts:
            bounds.append(bounds[-1] + c)
        self.info.num_segments = len(found)  # HAZARD: frozen-scalar
        self.info.order[: len(ordered)].copy_(torch.tensor(ordered))
        self.info.adapter[: len(found)].copy_(torch.tensor(found))
        self.info.starts[: len(bounds)].copy_(torch.tensor(bounds))

    def shrink(self, x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(x.shape[0], device=x.device)
        out = torch.zeros_like(x)
        for s in range(self.info.num_segments):  # ALT: frozen-scalar
            inside = (rows >= self.info.starts[s]) & (rows < self.info.starts[s + 1])
            weight = a.index_select(0, self.info.adapter[s : s + 1])[0]
            out += inside[:, None] * (x @ weight)
        return out


class LoraProjection(nn.Module):
    def __init__(self, adapters: int, width: int, backend: ChunkedBackend):
        super().__init__()
        self.base = nn.Linear(width, width)
        self.a = nn.Parameter(torch.zeros(adapters, width, width))
        self.backend = backend

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        order = self.backend.info.order
        return self.base(x) + self.backend.shrink(x[order], self.a)


class LoraRunner:
    def __init__(self, adapters: int, width: int, tokens: int):
        self.backend = ChunkedBackend(adapters, tokens)
        self.layer = LoraProjection(adapters, width, self.backend).cuda()
        self.x = torch.zeros(tokens, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def capture(self) -> None:
        self.backend.prepare([0] * self.x.shape[0])
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    def forward(self, x: torch.Tensor, adapters: list[int]) -> torch.Tensor:
        self.backend.prepare(adapters)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
