"""Source: sgl-project/sglang#26911, sgl-project/sglang#15207

Fixed form: the budget is the configured number; shorter rows are masked by the kernel.
"""

from abc import ABC, abstractmethod

import torch
import torch.nn as nn


class AttentionBackend(ABC):
    def __init__(self, batch: int, width: int):
        self.lens = torch.ones(batch, dtype=torch.int32, device="cuda")
        self.starts = torch.zeros(batch, dtype=torch.int32, device="cuda")
        self.width = width

    def prepare(self, lens: torch.Tensor) -> None:
        self.lens.copy_(lens)

    def prepare_in_graph(self) -> None:
        self.starts.copy_(torch.cumsum(self.lens, dim=0) - self.lens)

    @abstractmethod
    def attend(self, x: torch.Tensor) -> torch.Tensor: ...


class DenseBackend(AttentionBackend):
    def attend(self, x: torch.Tensor) -> torch.Tensor:
        return x / self.lens[:, None]


class SparseBackend(AttentionBackend):
    def __init__(self, batch: int, width: int, top_k: int):
        super().__init__(batch, width)
        self.top_k = top_k

    def prepare_in_graph(self) -> None:
        super().prepare_in_graph()
        self.budget = self.top_k

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        return x.topk(self.budget, dim=-1).values.sum(-1, keepdim=True) + x


BACKENDS = {"dense": DenseBackend, "sparse": SparseBackend}


class Runner:
    def __init__(self, proj: nn.Module, backend: str, batch: int, width: int, **options):
        self.proj = proj.cuda()
        self.backend = BACKENDS[backend](batch, width, **options)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _once(self) -> torch.Tensor:
        self.backend.prepare_in_graph()
        return self.backend.attend(self.proj(self.x))

    @torch.inference_mode()
    def capture(self) -> None:
        self._once()
        self._once()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._once()

    def replay(self, x: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.backend.prepare(lens)
        self.graph.replay()
        return self.y.clone()


def sparse_runner(proj: nn.Module, batch: int, width: int) -> Runner:
    runner = Runner(proj, "sparse", batch, width, top_k=8)
    runner.capture()
    return runner
