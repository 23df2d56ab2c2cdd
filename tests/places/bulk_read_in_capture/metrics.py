"""Observers that copy what they see."""

import numpy as np
import torch

HISTORY: list[list[float]] = []


def observe(x: torch.Tensor) -> torch.Tensor:
    norms = x.norm(dim=-1)
    HISTORY.append(norms.tolist())  # expect: CG303
    return x / norms.unsqueeze(-1)


def histogram(x: torch.Tensor):
    counts, edges = np.histogram(x.detach().cpu().numpy(), bins=16)  # expect: CG303
    return counts, edges


def histogram_on_device(x: torch.Tensor):
    return torch.histc(x, bins=16, min=0.0, max=1.0)  # ok: CG303
