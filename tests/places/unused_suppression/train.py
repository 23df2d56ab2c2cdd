# graphlint: ignore-file[CG404] -- the mixing is meant to be frozen  # ok: CG901
# graphlint: ignore-file[CG805] -- there was a backward pass  # expect: CG901
"""A captured step with a frozen mixing ratio."""

import random

import torch


def record(x: torch.Tensor):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * random.random()
    text = "# graphlint: ignore[CG302]"  # ok: CG901
    total = y.sum()  # graphlint: ignore[CG302, CG901] -- needed by the next version only
    return graph, x, y, text, total
