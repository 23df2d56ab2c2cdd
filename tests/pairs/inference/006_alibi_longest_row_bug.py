"""Symptom: the ALiBi helper asks the device for the longest row to size its bias, inside the captured
layer.
"""

import math

import torch
import torch.nn as nn


def alibi_slopes(heads: int) -> list[float]:
    base = 2 ** (-8 / heads)
    return [math.pow(base, i + 1) for i in range(heads)]


def alibi_bias(slopes: torch.Tensor, positions: torch.Tensor, limit: int) -> torch.Tensor:
    longest = positions.max() + 1
    span = torch.arange(int(longest), device=positions.device)  # HAZARD: sync-in-capture
    distance = span[None, :] - positions[:, None]
    return slopes[None, :, None] * distance[:, None, :].clamp(max=0)


class AlibiScores(nn.Module):
    def __init__(self, heads: int, limit: int):
        super().__init__()
        self.limit = limit
        self.register_buffer("slopes", torch.tensor(alibi_slopes(heads)))
        self.mix = nn.Linear(heads, heads)

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        bias = alibi_bias(self.slopes, positions, self.limit)
        return self.mix(x) + bias.amin(-1)


class ScoreGraph:
    def __init__(self, heads: int, batch: int, limit: int):
        self.net = AlibiScores(heads, limit).to("cuda")
        self.inputs = {
            "x": torch.zeros(batch, heads, device="cuda"),
            "positions": torch.zeros(batch, dtype=torch.long, device="cuda"),
        }
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.net(**self.inputs)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.y = self.net(**self.inputs)

    def __call__(self, **inputs: torch.Tensor) -> torch.Tensor:
        for name, value in inputs.items():
            self.inputs[name].copy_(value)
        self.graph.replay()
        return self.y.clone()
