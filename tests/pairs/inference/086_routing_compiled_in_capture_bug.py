"""Symptom: the routing helper is compiled; the profiling run before the capture takes a branch without
routing, so the helper compiles for the first time while the stream is captured.
"""

import torch
import torch.nn as nn


@torch.compile(dynamic=True)
def grouped_topk(scores: torch.Tensor, groups: int, top_k: int) -> tuple[torch.Tensor, torch.Tensor]:
    grouped = scores.view(scores.shape[0], groups, -1)
    best = grouped.amax(-1, keepdim=True)
    kept = torch.where(best >= best.amax(1, keepdim=True), grouped, torch.zeros_like(grouped))
    return kept.flatten(1).topk(top_k, dim=-1)


class RoutedLayer(nn.Module):
    def __init__(self, width: int, experts: int, groups: int):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.w = nn.Parameter(torch.zeros(experts, width, width))
        self.groups = groups

    def forward(self, x: torch.Tensor, profiling: bool = False) -> torch.Tensor:
        scores = self.gate(x).sigmoid()
        if profiling:
            return torch.einsum("bd,edf->bf", x, self.w)
        weights, ids = grouped_topk(scores, self.groups, 2)  # ALT: jit-in-capture
        return (weights[..., None] * torch.einsum("bd,bkdf->bkf", x, self.w[ids])).sum(1)


class MoEModel(nn.Module):
    def __init__(self, width: int, experts: int, groups: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList(RoutedLayer(width, experts, groups) for _ in range(depth))

    def forward(self, x: torch.Tensor, profiling: bool = False) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x, profiling)
        return x


class Worker:
    def __init__(self, width: int, batch: int):
        self.model = MoEModel(width, 16, 4, 2).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def profile(self) -> None:
        for _ in range(2):
            self.model(self.x, profiling=True)

    @torch.inference_mode()
    def capture_model(self) -> None:
        self.profile()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):  # HAZARD: jit-in-capture
            self.y = self.model(self.x)

    def execute(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
