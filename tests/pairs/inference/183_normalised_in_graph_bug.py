"""After image pre-processing that was moved into the graph of the encoder.

Symptom: mean and deviation come from the processor's configuration as lists, and become tensors at each call.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class ProcessorConfig:
    mean: tuple[float, ...] = (0.48, 0.46, 0.41)
    std: tuple[float, ...] = (0.27, 0.26, 0.28)
    size: int = 224
    rescale: float = 1 / 255


def normalise(x: torch.Tensor, mean, std) -> torch.Tensor:
    mean = torch.as_tensor(mean, dtype=x.dtype, device=x.device)  # HAZARD: pageable-copy
    std = torch.as_tensor(std, dtype=x.dtype, device=x.device)  # HAZARD: pageable-copy
    return (x - mean[:, None, None]) / std[:, None, None]


class Pipeline:
    def __init__(self, steps: list):
        self.steps = steps

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        for step in self.steps:
            x = step(x)
        return x


class ImageTower:
    def __init__(self, encoder: nn.Module, config: ProcessorConfig, batch: int):
        self.encoder = encoder
        self.pipeline = Pipeline(
            [
                lambda x: x.float() * config.rescale,
                lambda x: F.interpolate(x, size=(config.size, config.size), mode="bilinear"),
                lambda x: normalise(x, config.mean, config.std),
            ]
        )
        self.pixels = torch.zeros(batch, 3, 480, 640, dtype=torch.uint8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.encoder(self.pipeline(self.pixels))
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.features = self.encoder(self.pipeline(self.pixels))

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        self.pixels.copy_(pixels)
        self.graph.replay()
        return self.features.clone()
