"""After guidance that skips some layers of an image model, chosen by each request.

Symptom: the set of skipped layers decides which layers are recorded; later requests with other layers replay it.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class SkipConfig:
    def __init__(self) -> None:
        self.layers: set[int] = set()

    def update(self, layers: list[int]) -> None:
        self.layers = set(layers)  # HAZARD: frozen-scalar, side-effect


class ImageTransformer(nn.Module):
    def __init__(self, depth: int, width: int, skip: SkipConfig):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.skip = skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for index, layer in enumerate(self.layers):
            if index in self.skip.layers:  # HAZARD: frozen-scalar, side-effect
                continue
            x = x + layer(x)
        return x


class Denoise:
    def __init__(self, model: ImageTransformer, tokens: int, width: int):
        self.model = model.cuda()
        self.x = torch.zeros(tokens, width, device="cuda")
        self.graph = None

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor, skipped: list[int]) -> torch.Tensor:
        self.model.skip.update(skipped)
        self.x.copy_(x)
        if self.graph is None:
            for _ in range(2):
                self.model(self.x)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x)
        self.graph.replay()
        return self.y.clone()
