from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from ..config import EngineConfig
from ..layers.attention import Attention
from ..layers.linear import Linear, RMSNorm


class DenseMLP(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.gate_up = Linear(hidden, 8 * hidden)
        self.down = Linear(4 * hidden, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


class DecoderLayer(nn.Module):
    def __init__(self, config: EngineConfig, prefix: str) -> None:
        super().__init__()
        hidden = config.model.hidden_size
        self.qkv = Linear(hidden, 3 * hidden)
        self.attn = Attention(config, prefix=f"{prefix}.attn")
        self.out = Linear(hidden, hidden)
        self.mlp = self.make_mlp(config)
        self.input_norm = RMSNorm(hidden)
        self.post_norm = RMSNorm(hidden)

    def make_mlp(self, config: EngineConfig) -> nn.Module:
        return DenseMLP(config.model.hidden_size)

    def forward(self, hidden: torch.Tensor, residual: torch.Tensor | None):
        if residual is None:
            residual, hidden = hidden, self.input_norm(hidden)
        else:
            hidden, residual = self.input_norm(hidden, residual)
        query, key, value = self.qkv(hidden).chunk(3, dim=-1)
        hidden = self.out(self.attn(query, key, value))
        hidden, residual = self.post_norm(hidden, residual)
        return self.mlp(hidden), residual


class DenseForCausalLM(nn.Module):
    layer_cls: type[DecoderLayer] = DecoderLayer

    def __init__(self, *, config: EngineConfig, prefix: str = "") -> None:
        super().__init__()
        model = config.model
        self.embed = nn.Embedding(model.vocab_size, model.hidden_size)
        self.layers = nn.ModuleList(
            self.layer_cls(config, f"{prefix}.layers.{n}") for n in range(model.num_layers)
        )
        self.norm = RMSNorm(model.hidden_size)
        self.lm_head = Linear(model.hidden_size, model.vocab_size)

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        hidden, residual = self.embed(input_ids), None
        for layer in self.layers:
            hidden, residual = layer(hidden, residual)
        hidden, _ = self.norm(hidden, residual)
        return hidden

    def compute_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.lm_head(hidden)

    def load_weights(self, weights: dict[str, torch.Tensor]) -> None:
        own = dict(self.named_parameters())
        for name, loaded in weights.items():
            own[name].data.copy_(loaded)
