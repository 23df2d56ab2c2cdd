from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Router(nn.Module):
    def __init__(self, hidden: int, experts: int, top_k: int = 2) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(experts, hidden), requires_grad=False)
        self.top_k = top_k

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        probabilities = F.linear(x, self.weight).float().softmax(dim=-1)
        weights, ids = probabilities.topk(self.top_k, dim=-1)
        return (weights / weights.sum(dim=-1, keepdim=True)).to(x.dtype), ids


class Experts(nn.Module):
    """Every expert sees every token; what it was not chosen for is weighed with zero."""

    def __init__(self, hidden: int, experts: int) -> None:
        super().__init__()
        self.num_experts = experts
        self.w1 = nn.Parameter(torch.empty(experts, 2 * hidden, hidden), requires_grad=False)
        self.w2 = nn.Parameter(torch.empty(experts, hidden, 2 * hidden), requires_grad=False)

    def forward(self, x: torch.Tensor, weights: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        dense = torch.zeros(x.shape[0], self.num_experts, dtype=x.dtype, device=x.device)
        dense.scatter_add_(1, ids, weights)
        hidden = torch.einsum("th,eih->tei", x, self.w1)
        each = torch.einsum("tei,ehi->teh", F.silu(hidden), self.w2)
        return (each * dense.unsqueeze(-1)).sum(dim=1)


class SparseMLP(nn.Module):
    def __init__(self, hidden: int, experts: int) -> None:
        super().__init__()
        self.router = Router(hidden, experts)
        self.experts = Experts(hidden, experts)
        self.register_buffer("load", torch.zeros(experts), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, ids = self.router(x)
        ones = torch.ones_like(ids, dtype=self.load.dtype)
        self.load.scatter_add_(0, ids.flatten(), ones.flatten())
        return self.experts(x, weights, ids)
