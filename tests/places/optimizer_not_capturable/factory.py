"""Makes optimizers by name."""

import torch

KINDS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def make(name: str, weights) -> torch.optim.Optimizer:
    return KINDS[name](weights, lr=1e-3)


def make_capturable(name: str, weights) -> torch.optim.Optimizer:
    return KINDS[name](weights, lr=1e-3, capturable=True)


def update(optimizer: torch.optim.Optimizer):
    optimizer.step()  # expect: CG804
