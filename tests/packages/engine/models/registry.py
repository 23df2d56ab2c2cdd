from __future__ import annotations

import torch
from torch import nn

from ..config import EngineConfig

_MODELS: dict[str, type[nn.Module]] = {}


def register_model(name: str):
    def add(cls):
        _MODELS[name] = cls
        return cls

    return add


def load_model(config: EngineConfig, device: torch.device) -> nn.Module:
    from . import decoder  # noqa: F401

    model = _MODELS[config.model.architecture](config)
    return model.to(device).eval()
