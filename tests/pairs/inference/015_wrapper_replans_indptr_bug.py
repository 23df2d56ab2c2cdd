"""Symptom: the attention wrapper was built without its graph mode, so plan() binds new index tensors
before every replay.
"""

import torch
import torch.nn as nn


class BatchWrapper:
    def __init__(self, rows: int, entries: int, use_cuda_graph: bool = False):
        self.use_cuda_graph = use_cuda_graph
        self.indptr = torch.zeros(rows + 1, dtype=torch.int64, device="cuda")
        self.indices = torch.zeros(entries, dtype=torch.int64, device="cuda")

    def plan(self, indptr: torch.Tensor, indices: torch.Tensor) -> None:
        if self.use_cuda_graph:
            self.indptr.copy_(indptr)
            self.indices[: indices.shape[0]].copy_(indices)
        else:
            self.indptr = indptr.to("cuda")  # HAZARD: rebind-static-input
            self.indices = indices.to("cuda")  # HAZARD: rebind-static-input

    def run(self, q: torch.Tensor, kv: torch.Tensor) -> torch.Tensor:
        rows = kv[self.indices]
        total = rows.cumsum(0)[self.indptr[1:] - 1]
        return q * total


class Runner:
    def __init__(self, proj: nn.Module, rows: int, width: int, entries: int):
        self.proj = proj
        self.kv = torch.zeros(entries, width, device="cuda")
        self.wrapper = BatchWrapper(rows, entries)
        self.x = torch.zeros(rows, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.wrapper.run(self.proj(self.x), self.kv)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.wrapper.run(self.proj(self.x), self.kv)

    def step(self, x: torch.Tensor, indptr: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        self.wrapper.plan(indptr, indices)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
