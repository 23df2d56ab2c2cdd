"""Towers that are graphed once, and the losses that go through them."""

import torch
from torch import nn


def graphed_tower(width: int) -> nn.Module:
    tower = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)).cuda()
    return torch.cuda.make_graphed_callables(tower, (torch.randn(8, width, device="cuda"),))


def backpropagate(tower: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    loss = tower(batch).square().mean()
    loss.backward()  # expect: CG811
    return loss.detach()


def backpropagate_anew(tower: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    tower.zero_grad()
    loss = tower(batch).square().mean()
    loss.backward()  # ok: CG811
    return loss.detach()
