from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .arguments import TrainingArgs
from .rng import get_rng_tracker


class ParallelDropout(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        noise = torch.empty_like(x).uniform_(generator=get_rng_tracker().get("dropout"))
        return x * (noise > self.p) / (1 - self.p)


class SelfAttention(nn.Module):
    def __init__(self, args: TrainingArgs) -> None:
        super().__init__()
        self.qkv = nn.Linear(args.hidden, 3 * args.hidden)
        self.proj = nn.Linear(args.hidden, args.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class Block(nn.Module):
    def __init__(self, args: TrainingArgs) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(args.hidden), nn.LayerNorm(args.hidden)
        self.attention = SelfAttention(args)
        self.mlp = nn.Sequential(
            nn.Linear(args.hidden, 4 * args.hidden), nn.GELU(), nn.Linear(4 * args.hidden, args.hidden)
        )
        self.dropout = ParallelDropout(args.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.mlp(self.norm2(x)))
