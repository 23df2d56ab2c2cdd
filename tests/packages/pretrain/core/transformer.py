from __future__ import annotations

import torch
from torch import nn

from ..config import TransformerConfig
from .graphs import GraphManager
from .layers import MoELayer, SelfAttention
from .rng import get_tracker


class TransformerLayer(nn.Module):
    def __init__(self, config: TransformerConfig, number: int) -> None:
        super().__init__()
        self.config = config
        self.number = number
        size, eps = config.hidden_size, config.layernorm_epsilon
        self.input_norm = nn.LayerNorm(size, eps=eps, device="cuda", dtype=config.params_dtype)
        self.attention = SelfAttention(config)
        self.mlp_norm = nn.LayerNorm(size, eps=eps, device="cuda", dtype=config.params_dtype)
        self.mlp = MoELayer(config)
        self.dropout = nn.Dropout(config.hidden_dropout)
        self.graphs = GraphManager(config) if config.enable_cuda_graph else None

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        with get_tracker().fork():
            hidden = hidden + self.dropout(self.attention(self.input_norm(hidden)))
            return hidden + self.dropout(self.mlp(self.mlp_norm(hidden)))

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        if self.graphs is not None and self.training:
            return self.graphs(self, hidden)
        return super().__call__(hidden)


class TransformerBlock(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(TransformerLayer(config, n) for n in range(config.num_layers))
        self.final_norm = nn.LayerNorm(config.hidden_size, device="cuda", dtype=config.params_dtype)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            hidden = layer(hidden)
        return self.final_norm(hidden)
