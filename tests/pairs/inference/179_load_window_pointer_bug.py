"""After expert load balancing with a sliding window of routing counts.

Symptom: the row of the window is a Python number that moves on after each step. The graph writes into the row
that was current at the capture, and the balancer sees one busy row among empty ones.
"""

import torch
import torch.nn as nn


class LoadWindow:
    def __init__(self, layers: int, experts: int, length: int):
        self.rows = torch.zeros(length, layers, experts, device="cuda")
        self.length = length
        self.current = 0

    def record(self, layer: int, ids: torch.Tensor) -> None:
        counts = torch.zeros(self.rows.shape[-1], device=ids.device)
        counts.scatter_add_(0, ids.flatten(), torch.ones_like(ids.flatten(), dtype=counts.dtype))
        self.rows[self.current, layer].copy_(counts)  # HAZARD: frozen-scalar

    def advance(self) -> None:
        self.current = (self.current + 1) % self.length
        self.rows[self.current].zero_()


class BalancedMoE(nn.Module):
    def __init__(self, layer: int, width: int, experts: int, window: LoadWindow):
        super().__init__()
        self.layer, self.window = layer, window
        self.gate = nn.Linear(width, experts, device="cuda")
        self.up = nn.Linear(width, width, device="cuda")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, ids = self.gate(x).softmax(-1).topk(2, dim=-1)
        self.window.record(self.layer, ids)
        return x + self.up(x) * weights.sum(-1, keepdim=True)


class BalancedRunner:
    def __init__(self, layers: int, width: int, experts: int, batch: int):
        self.window = LoadWindow(layers, experts, 100)
        self.model = nn.Sequential(*[BalancedMoE(i, width, experts, self.window) for i in range(layers)])
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    @torch.inference_mode()
    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        self.window.advance()
        return self.y.clone()
