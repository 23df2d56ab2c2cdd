from __future__ import annotations

import torch
from torch import nn

from ..config import EngineConfig
from ..forward_context import get_forward_context
from ..layers.attention import Attention
from ..layers.basic import GatedMLP, LogitsProcessor, RMSNorm
from .registry import register_model


class DecoderLayer(nn.Module):
    def __init__(self, config: EngineConfig, index: int) -> None:
        super().__init__()
        size, eps = config.model.hidden_size, config.model.rms_eps
        self.input_norm = RMSNorm(size, eps)
        self.attention = Attention(config, index)
        self.post_norm = RMSNorm(size, eps)
        self.mlp = GatedMLP(size)

    def forward(self, hidden, residual):
        if residual is None:
            hidden, residual = self.input_norm(hidden), hidden
        else:
            hidden, residual = self.input_norm(hidden, residual)
        hidden = self.attention(hidden)
        if get_forward_context().debug.check_activations:
            self._check(hidden)
        hidden, residual = self.post_norm(hidden, residual)
        return self.mlp(hidden), residual

    def _check(self, hidden: torch.Tensor) -> None:
        bad = ~torch.isfinite(hidden)
        if bad.any():
            raise FloatingPointError("attention gave a number that is not finite")


@register_model("DecoderForCausalLM")
class DecoderForCausalLM(nn.Module):
    def __init__(self, config: EngineConfig) -> None:
        super().__init__()
        model = config.model
        self.embed = nn.Embedding(model.vocab_size, model.hidden_size)
        self.layers = nn.ModuleList(DecoderLayer(config, i) for i in range(model.num_layers))
        self.norm = RMSNorm(model.hidden_size, model.rms_eps)
        self.head = nn.Linear(model.hidden_size, model.vocab_size, bias=False)
        self.logits_processor = LogitsProcessor(model.logit_cap)

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        hidden, residual = self.embed(input_ids), None
        for layer in self.layers:
            hidden, residual = layer(hidden, residual)
        hidden, _ = self.norm(hidden, residual)
        return hidden

    def compute_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.logits_processor(self.head, hidden)
