from __future__ import annotations

from torch import nn

from ..config import EngineConfig
from ..layers.moe import SparseMLP
from .dense import DecoderLayer, DenseForCausalLM


class SparseLayer(DecoderLayer):
    def make_mlp(self, config: EngineConfig) -> nn.Module:
        return SparseMLP(config.model.hidden_size, config.model.num_experts)


class SparseForCausalLM(DenseForCausalLM):
    layer_cls = SparseLayer
