from __future__ import annotations

import torch
from torch import nn

from ..attention.abstract import get_backend
from ..config import EngineConfig
from ..forward_context import get_forward_context


class Attention(nn.Module):
    def __init__(self, config: EngineConfig, layer_index: int) -> None:
        super().__init__()
        model = config.model
        self.layer_index = layer_index
        self.num_heads, self.head_dim = model.num_heads, model.head_dim
        self.qkv = nn.Linear(model.hidden_size, 3 * model.hidden_size, bias=False)
        self.out = nn.Linear(model.hidden_size, model.hidden_size, bias=False)
        self.impl = get_backend(config.attention_backend).get_impl_cls()(model.num_heads, model.head_dim)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        context = get_forward_context()
        shape = (-1, self.num_heads, self.head_dim)
        query, key, value = (part.view(shape) for part in self.qkv(hidden).chunk(3, dim=-1))
        cache = context.kv_caches[self.layer_index]
        self.impl.write_cache(key, value, cache, context.metadata)
        attended = self.impl.forward(query, cache, context.metadata)
        return self.out(attended.flatten(1))
