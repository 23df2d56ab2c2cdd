"""Another shape of a counted cache position: closures over a number instead of a field.

Symptom: the number is part of the recorded slice; every replay writes the same row of the cache.
"""

from __future__ import annotations

import torch
import torch.nn as nn


def make_cache(length: int, width: int):
    rows = torch.zeros(length, width, device="cuda")
    filled = 0

    def append(x: torch.Tensor) -> torch.Tensor:
        nonlocal filled
        rows[filled : filled + 1].copy_(x)  # HAZARD: frozen-scalar, side-effect
        filled += 1  # HAZARD: frozen-scalar, side-effect
        return rows

    def reset() -> None:
        nonlocal filled
        filled = 0

    return append, reset


def make_decoder(block: nn.Module, length: int, width: int):
    append, reset = make_cache(length, width)
    x = torch.zeros(1, width, device="cuda")

    def forward() -> torch.Tensor:
        keys = append(block(x))
        return (x @ keys.t()).softmax(-1) @ keys

    with torch.no_grad():
        for _ in range(2):
            forward()
        torch.cuda.synchronize()
        reset()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = forward()

    def decode(token: torch.Tensor) -> torch.Tensor:
        x.copy_(token)
        graph.replay()
        return y.clone()

    return decode, block
