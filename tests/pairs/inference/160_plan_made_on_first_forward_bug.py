"""Drawn from attention wrappers that plan lazily (TensorRT-LLM#18443, vllm's flashinfer backend).

Symptom: begin() only notes the lengths and says that a plan is due; the plan is made by the first layer
that runs. In replays no layer runs Python, so the plan of the capture stays.
"""

import torch
import torch.nn as nn


class LazyPlanner:
    def __init__(self, batch: int):
        self.lengths = [1] * batch
        self.due = False
        self.chunks = 1

    def begin(self, lengths: list[int]) -> None:
        self.lengths = lengths
        self.due = True  # ALT: side-effect, frozen-scalar

    def plan(self) -> None:
        if self.due:  # ALT: frozen-scalar, side-effect
            self.chunks = -(-max(self.lengths) // 256)  # ALT: side-effect, frozen-scalar
            self.due = False  # ALT: side-effect, frozen-scalar


class PlannedAttention(nn.Module):
    def __init__(self, width: int, planner: LazyPlanner):
        super().__init__()
        self.q = nn.Linear(width, width, device="cuda")
        self.planner = planner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.planner.plan()
        return self.q(x) / self.planner.chunks  # HAZARD: frozen-scalar, side-effect


class Engine:
    def __init__(self, layers: int, width: int, batch: int):
        self.planner = LazyPlanner(batch)
        self.layers = [PlannedAttention(width, self.planner) for _ in range(layers)]
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        x = self.x
        for layer in self.layers:
            x = layer(x)
        return x

    @torch.inference_mode()
    def capture(self) -> None:
        self.planner.begin([1] * self.x.shape[0])
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._forward()

    @torch.inference_mode()
    def decode(self, x: torch.Tensor, lengths: list[int]) -> torch.Tensor:
        self.planner.begin(lengths)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
