from __future__ import annotations

import torch

from .buckets import Buckets
from .graph_pool import GraphPool
from .nets.denoiser import Denoiser
from .settings import ServerSettings


class Synthesiser:
    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.device = torch.device(settings.device)
        self.buckets = Buckets(settings.buckets)
        self.embedding = torch.nn.Embedding(settings.vocabulary, 128, device=self.device)
        self.denoiser = Denoiser(settings.denoiser, condition=128).to(self.device).eval()
        self.pool = GraphPool(self.denoiser, settings.graphs_kept)
        steps = settings.denoiser.steps
        self.times = torch.linspace(0.0, 1.0, steps + 1, device=self.device)
        self.scale = torch.full((1,), settings.denoiser.guidance, device=self.device)

    def set_guidance(self, scale: float) -> None:
        self.scale.fill_(scale)

    def _velocity(self, bucket: int | None, *values: torch.Tensor) -> torch.Tensor:
        if bucket is None or not self.settings.use_graphs:
            return self.denoiser(*values)
        return self.pool(bucket, *values)

    @torch.inference_mode()
    def warm_up(self) -> None:
        for size in self.buckets.largest_first():
            self._generate(torch.zeros(size, dtype=torch.int64, device=self.device))

    @torch.inference_mode()
    def speak(self, tokens: list[int]) -> torch.Tensor:
        return self._generate(torch.tensor(tokens, device=self.device)).cpu()

    def _generate(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[0]
        bucket = self.buckets.fitting(length)
        padded = torch.nn.functional.pad(tokens, (0, (bucket or length) - length))
        condition = self.embedding(padded)
        x = torch.randn(padded.shape[0], self.settings.denoiser.width, device=self.device)
        width = 1.0 / self.settings.denoiser.steps
        for step in range(self.settings.denoiser.steps):
            velocity = self._velocity(bucket, x, condition, self.times[step : step + 1], self.scale)
            x = x + width * velocity
        return x[:length]
