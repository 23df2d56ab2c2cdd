# graphlint: ignore-file[CG404] -- the mixing is meant to be frozen  # ok: CG902
"""A captured step with a frozen mixing ratio."""

import random

import torch


def record(x: torch.Tensor):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * random.random()
    text = "# graphlint: ignore[CG999]"  # ok: CG902
    # graphlint is run before each release, see CG999  # ok: CG902
    total = y.sum()  # graphlint: ignore[CG999, CG902] -- a rule of the next version
    return graph, x, y, text, total
