"""Another shape of a counted cache position: closures over a number instead of a field.

Fixed form: the position is a tensor that the recorded work moves on.
"""

from __future__ import annotations

import torch
import torch.nn as nn


def make_cache(length: int, width: int):
    rows = torch.zeros(length, width, device="cuda")
    filled = torch.zeros(1, dtype=torch.long, device="cuda")

    def append(x: torch.Tensor) -> torch.Tensor:
        rows.index_copy_(0, filled, x)
        filled.add_(1)
        return rows

    def reset() -> None:
        filled.zero_()

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
