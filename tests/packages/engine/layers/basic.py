from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: torch.Tensor, residual: torch.Tensor | None = None):
        if residual is not None:
            x = x + residual
        variance = x.float().pow(2).mean(-1, keepdim=True)
        normed = (x * torch.rsqrt(variance + self.eps)).to(x.dtype) * self.weight
        return normed if residual is None else (normed, x)


class GatedMLP(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.gate_up = nn.Linear(size, 8 * size, bias=False)
        self.down = nn.Linear(4 * size, size, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


class LogitsProcessor(nn.Module):
    def __init__(self, soft_cap: float) -> None:
        super().__init__()
        self.soft_cap = soft_cap

    def forward(self, head: nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
        logits = head(hidden)
        if self.soft_cap > 0:
            logits = torch.tanh(logits / self.soft_cap) * self.soft_cap
        return logits
