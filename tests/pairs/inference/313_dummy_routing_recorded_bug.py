"""Source: vllm-project/vllm#29043 (routing simulation), NVIDIA/TensorRT-LLM#9378

Symptom: dummy batches are routed round-robin so that profiling does not hit one expert; capture runs
under the same forward context, and every replay routes real tokens round-robin as well.
"""

from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class ForwardContext:
    dummy_run: bool


_context: ForwardContext | None = None


@contextmanager
def forward_context(dummy_run: bool):
    global _context
    previous, _context = _context, ForwardContext(dummy_run)
    try:
        yield
    finally:
        _context = previous


class Router(nn.Module):
    def __init__(self, width: int, experts: int, top_k: int):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts, self.top_k = experts, top_k

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, ids = self.gate(x).softmax(-1).topk(self.top_k, dim=-1)
        if _context is not None and _context.dummy_run:  # ALT: frozen-scalar
            flat = torch.arange(ids.numel(), device=ids.device) % self.experts
            ids = flat.view_as(ids)
        return weights, ids


class MoELayer(nn.Module):
    def __init__(self, width: int, experts: int, top_k: int):
        super().__init__()
        self.router = Router(width, experts, top_k)
        self.w = nn.Parameter(torch.zeros(experts, width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, ids = self.router(x)
        return torch.einsum("tk,tkij,tj->ti", weights, self.w[ids], x)


class ModelRunner:
    def __init__(self, layer: MoELayer, batch: int, width: int):
        self.layer = layer.cuda().eval()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def _dummy_run(self) -> torch.Tensor:
        with forward_context(dummy_run=True):  # HAZARD: frozen-scalar
            return self.layer(self.x)

    def profile(self) -> None:
        self._dummy_run()
        torch.cuda.synchronize()

    def capture(self) -> None:
        for _ in range(2):
            self._dummy_run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._dummy_run()

    def execute(self, x: torch.Tensor) -> torch.Tensor:
        with forward_context(dummy_run=False):
            self.x.copy_(x)
            self.graph.replay()
            return self.y.clone()
