from __future__ import annotations

import torch
from torch import nn

from ..backends.abstract import get_backend
from ..config import EngineConfig
from ..forward_context import get_forward_context


class Attention(nn.Module):
    """Attention over a paged cache; the cache is bound after the model is loaded."""

    def __init__(self, config: EngineConfig, prefix: str) -> None:
        super().__init__()
        model = config.model
        backend = get_backend(config.backend)
        self.impl = backend.get_impl_cls()(model.num_heads, model.head_size, model.head_size**-0.5)
        self.kv_cache: torch.Tensor = torch.tensor([])
        self.layer_name = prefix
        if prefix in config.compilation.layers:
            raise ValueError(f"two layers are called {prefix}")
        config.compilation.layers[prefix] = self

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        output = torch.empty_like(query)
        attention_with_output(query, key, value, output, self.layer_name)
        return output


def attention_with_output(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, output: torch.Tensor, layer_name: str
) -> None:
    context = get_forward_context()
    layer = context.layers[layer_name]
    if context.metadata is None:
        output.zero_()
        return
    layer.impl.forward(query, key, value, layer.kv_cache, context.metadata, output)
