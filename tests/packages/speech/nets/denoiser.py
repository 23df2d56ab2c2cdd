from __future__ import annotations

import math

import torch
from torch import nn

from ..settings import DenoiserSettings


class TimeEmbedding(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        rates = torch.exp(-math.log(10000.0) * torch.arange(width // 2) / (width // 2))
        self.register_buffer("rates", rates)
        self.project = nn.Linear(width, width)

    def forward(self, time: torch.Tensor) -> torch.Tensor:
        angles = time * self.rates
        return self.project(torch.cat([angles.sin(), angles.cos()], dim=-1))


class Denoiser(nn.Module):
    def __init__(self, settings: DenoiserSettings, condition: int) -> None:
        super().__init__()
        self.settings = settings
        self.time = TimeEmbedding(settings.width)
        self.enter = nn.Linear(settings.width + condition, settings.width)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(settings.width), nn.Linear(settings.width, settings.width), nn.GELU())
            for _ in range(settings.blocks)
        )

    def velocity(self, x: torch.Tensor, condition: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        hidden = self.enter(torch.cat([x, condition], dim=-1)) + self.time(time)
        for layer in self.layers:
            hidden = hidden + layer(hidden)
        return hidden

    def forward(
        self, x: torch.Tensor, condition: torch.Tensor, time: torch.Tensor, scale: torch.Tensor
    ) -> torch.Tensor:
        with_condition = self.velocity(x, condition, time)
        without = self.velocity(x, torch.zeros_like(condition), time)
        return without + scale * (with_condition - without)
