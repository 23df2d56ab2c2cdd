from __future__ import annotations

import importlib

from torch import nn

from .config import EngineConfig

_MODELS = {
    "DenseForCausalLM": ("dense", "DenseForCausalLM"),
    "SparseForCausalLM": ("sparse", "SparseForCausalLM"),
}


class ModelRegistry:
    def __init__(self, known: dict[str, tuple[str, str]]) -> None:
        self.known = dict(known)

    def resolve(self, architecture: str) -> type[nn.Module]:
        if architecture not in self.known:
            raise ValueError(f"unknown architecture {architecture}")
        module, name = self.known[architecture]
        return getattr(importlib.import_module(f".models.{module}", __package__), name)


registry = ModelRegistry(_MODELS)


def build_model(config: EngineConfig) -> nn.Module:
    cls = registry.resolve(config.model.architecture)
    model = cls(config=config, prefix="model")
    return model.to(device=config.device, dtype=config.model.dtype).eval()
