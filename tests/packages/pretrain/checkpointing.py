from __future__ import annotations

from pathlib import Path

import torch

from .core.grad_buffer import DistributedModel
from .optimizer import MixedPrecisionOptimizer


def save_checkpoint(folder: str, iteration: int, model: DistributedModel, optimizer: MixedPrecisionOptimizer):
    path = Path(folder)
    path.mkdir(exist_ok=True)
    state = {"iteration": iteration, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path / f"{iteration}.pt")


def load_checkpoint(path: str, model: DistributedModel, optimizer: MixedPrecisionOptimizer) -> int:
    state = torch.load(path, map_location="cpu")
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    optimizer.reload_model_params()
    return state["iteration"]
