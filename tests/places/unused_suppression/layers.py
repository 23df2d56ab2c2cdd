"""Layers, some of which still need their comment."""

import torch


def longest(x: torch.Tensor):
    first = x[0].item()  # graphlint: ignore[CG302] -- never in production  # ok: CG901
    second = x[1]  # graphlint: ignore[CG302] -- was read here once  # expect: CG901
    # graphlint: ignore[CG302, CG303] -- the first only  # expect: CG901
    third = x[2].item()
    # graphlint: ignore[CG302] -- spans lines  # ok: CG901
    fourth = (x[3].item(),)
    print(x)  # graphlint: ignore[tensor-formatted-in-capture] -- for a demo  # ok: CG901
    return x * 2, first, second, third, fourth
