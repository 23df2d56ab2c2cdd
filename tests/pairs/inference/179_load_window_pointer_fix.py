"""The graph writes counts of the step; eager code copies them into the current row."""

import torch
import torch.nn as nn


class LoadWindow:
    def __init__(self, layers: int, experts: int, length: int):
        self.rows = torch.zeros(length, layers, experts, device="cuda")
        self.step_counts = torch.zeros(layers, experts, device="cuda")
        self.length = length
        self.current = 0

    def record(self, layer: int, ids: torch.Tensor) -> None:
        counts = torch.zeros(self.rows.shape[-1], device=ids.device)
        counts.scatter_add_(0, ids.flatten(), torch.ones_like(ids.flatten(), dtype=counts.dtype))
        self.step_counts[layer].copy_(counts)

    def advance(self) -> None:
        self.rows[self.current].copy_(self.step_counts)
        self.current = (self.current + 1) % self.length


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
