from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class QuantMethod:
    def create_weights(self, layer: nn.Module, out_size: int, in_size: int) -> None:
        raise NotImplementedError

    def apply(self, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class Unquantized(QuantMethod):
    def create_weights(self, layer: nn.Module, out_size: int, in_size: int) -> None:
        layer.register_parameter("weight", nn.Parameter(torch.empty(out_size, in_size), requires_grad=False))

    def apply(self, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, layer.weight)


class Linear(nn.Module):
    def __init__(self, in_size: int, out_size: int, quant: QuantMethod | None = None) -> None:
        super().__init__()
        self.quant_method = quant or Unquantized()
        self.quant_method.create_weights(self, out_size, in_size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.quant_method.apply(self, x)


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size), requires_grad=False)
        self.eps = eps

    def forward(self, x: torch.Tensor, residual: torch.Tensor | None = None):
        if residual is not None:
            x = x + residual
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        normed = (x.float() * scale).to(x.dtype) * self.weight
        return normed if residual is None else (normed, x)
