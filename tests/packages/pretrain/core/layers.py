from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from ..config import TransformerConfig
from .parallel_state import get_tensor_group
from .rng import get_tracker


class _CopyToTensorRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        return x

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        dist.all_reduce(grad, group=get_tensor_group())
        return grad


class _ReduceFromTensorRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        dist.all_reduce(x, group=get_tensor_group())
        return x

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        return grad


class ColumnParallelLinear(nn.Module):
    def __init__(self, in_size: int, out_size: int, config: TransformerConfig) -> None:
        super().__init__()
        share = out_size // dist.get_world_size(get_tensor_group())
        self.weight = nn.Parameter(torch.empty(share, in_size, device="cuda", dtype=config.params_dtype))
        with get_tracker().fork():
            nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(_CopyToTensorRegion.apply(x), self.weight)


class RowParallelLinear(nn.Module):
    def __init__(self, in_size: int, out_size: int, config: TransformerConfig) -> None:
        super().__init__()
        share = in_size // dist.get_world_size(get_tensor_group())
        self.weight = nn.Parameter(torch.empty(out_size, share, device="cuda", dtype=config.params_dtype))
        with get_tracker().fork():
            nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _ReduceFromTensorRegion.apply(F.linear(x, self.weight))


class SelfAttention(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads // dist.get_world_size(get_tensor_group())
        self.qkv = ColumnParallelLinear(config.hidden_size, 3 * config.hidden_size, config)
        self.proj = RowParallelLinear(config.hidden_size, config.hidden_size, config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        query, key, value = (
            part.view(batch, length, self.num_heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.proj(mixed.transpose(1, 2).reshape(batch, length, -1))


class MoELayer(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.router = nn.Linear(
            config.hidden_size, config.num_experts, bias=False, device="cuda", dtype=config.params_dtype
        )
        self.up = nn.ModuleList(
            ColumnParallelLinear(config.hidden_size, 2 * config.hidden_size, config)
            for _ in range(config.num_experts)
        )
        self.down = nn.ModuleList(
            RowParallelLinear(2 * config.hidden_size, config.hidden_size, config)
            for _ in range(config.num_experts)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = self._with_aux_loss(self.router(x).float().softmax(dim=-1))
        out = torch.zeros_like(x)
        for n in range(self.config.num_experts):
            out = out + self.down[n](F.gelu(self.up[n](x))) * weights[..., n : n + 1].to(x.dtype)
        return out

    def _with_aux_loss(self, weights: torch.Tensor) -> torch.Tensor:
        balance = weights.mean(dim=(0, 1)).pow(2).sum() * self.config.num_experts
        return weights * (1.0 + self.config.aux_loss_coeff * balance)
