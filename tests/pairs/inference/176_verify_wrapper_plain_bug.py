"""After FlashInfer backends with one wrapper for each kind of step.

Symptom: only the wrapper for decoding is built for graphs. The one for verification plans into new buffers
before each replay, and the graph keeps the first ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import flashinfer
import torch


@dataclass
class Buffers:
    batch: int
    workspace: torch.Tensor = field(init=False)
    indptr: torch.Tensor = field(init=False)
    indices: torch.Tensor = field(init=False)
    last: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.workspace = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
        self.indptr = torch.zeros(self.batch + 1, dtype=torch.int32, device="cuda")
        self.indices = torch.zeros(4096, dtype=torch.int32, device="cuda")
        self.last = torch.ones(self.batch, dtype=torch.int32, device="cuda")


class Backend:
    def __init__(self, batch: int, heads: int, dim: int):
        self.heads, self.dim = heads, dim
        self.buffers = Buffers(batch)
        self.cache = torch.zeros(4096, 2, 16, heads, dim, dtype=torch.float16, device="cuda")
        self.decode = self._wrapper(graphs=True)
        self.verify = self._wrapper()

    def _wrapper(self, graphs: bool = False):
        b = self.buffers
        if graphs:
            return flashinfer.BatchDecodeWithPagedKVCacheWrapper(
                b.workspace,
                "NHD",
                use_cuda_graph=True,
                paged_kv_indptr_buffer=b.indptr,
                paged_kv_indices_buffer=b.indices,
                paged_kv_last_page_len_buffer=b.last,
            )
        return flashinfer.BatchDecodeWithPagedKVCacheWrapper(b.workspace, "NHD")

    def attend(self, q: torch.Tensor, verifying: bool) -> torch.Tensor:
        wrapper = self.verify if verifying else self.decode
        return wrapper.run(q, self.cache)  # HAZARD: stale-pointer, other


class VerifyGraph:
    def __init__(self, backend: Backend, batch: int):
        self.backend = backend
        self.q = torch.zeros(batch, backend.heads, backend.dim, dtype=torch.float16, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self) -> None:
        for _ in range(2):
            self.backend.attend(self.q, verifying=True)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self.backend.attend(self.q, verifying=True)

    def run(self, q: torch.Tensor, indptr, indices, last) -> torch.Tensor:
        self.backend.verify.plan(
            indptr, indices, last, self.backend.heads, self.backend.heads, self.backend.dim, 16
        )
        self.q.copy_(q)
        self.graph.replay()
        return self.out.clone()
