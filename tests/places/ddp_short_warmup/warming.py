"""Warm-ups of modules."""

import torch


def warm(model: torch.nn.Module, x: torch.Tensor, turns: int):
    for _ in range(turns):  # expect: CG809
        model.zero_grad()
        model(x).sum().backward()
    model.zero_grad()


def warm_long(model: torch.nn.Module, x: torch.Tensor):
    for _ in range(11):  # ok: CG809
        model.zero_grad()
        model(x).sum().backward()
    model.zero_grad()
