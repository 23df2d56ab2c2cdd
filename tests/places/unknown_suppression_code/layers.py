"""Layers with comments of all kinds."""

import torch


def read(x: torch.Tensor):
    first = x[0].item()  # graphlint: ignore[CG302] -- by code  # ok: CG902
    second = x[1].item()  # graphlint: ignore[scalar-read-in-capture] -- by name  # ok: CG902
    third = x[2].item()  # graphlint: ignore[cg302] -- in small letters  # ok: CG902
    fourth = x[3]  # graphlint: ignore[scalar-reads] -- a name that is not  # expect: CG902
    fifth = x[4]  # graphlint: ignore -- of everything  # expect: CG902
    sixth = x[5]  # graphlint: ignore[CG3] -- a prefix  # expect: CG902
    seventh = x[6]  # graphlint: ignore[CG302 -- no bracket  # expect: CG902
    return x * 2, first, second, third, fourth, fifth, sixth, seventh
