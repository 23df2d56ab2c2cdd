"""Symptom: the denoising step looks up the noise level with a Python step counter that the pipeline
advances between replays.
"""

import torch
import torch.nn as nn


class EulerScheduler:
    def __init__(self, steps: int):
        self.sigmas = torch.linspace(1.0, 0.0, steps + 1, device="cuda")
        self.index = 0
        self.step_index = torch.zeros(1, dtype=torch.long, device="cuda")

    def advance(self) -> None:
        self.index += 1  # ALT: frozen-scalar
        self.step_index.add_(1)

    def step(self, noise: torch.Tensor, latent: torch.Tensor) -> torch.Tensor:
        delta = self.sigmas[self.index + 1] - self.sigmas[self.index]  # HAZARD: frozen-scalar
        return latent + delta * noise


class DenoiseGraph:
    def __init__(self, unet: nn.Module, shape: tuple, steps: int):
        self.unet, self.steps = unet, steps
        self.scheduler = EulerScheduler(steps)
        self.latent = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _once(self) -> torch.Tensor:
        return self.scheduler.step(self.unet(self.latent), self.latent)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._once()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.next = self._once()

    def generate(self, latent: torch.Tensor) -> torch.Tensor:
        self.latent.copy_(latent)
        for _ in range(self.steps):
            self.graph.replay()
            self.latent.copy_(self.next)
            self.scheduler.advance()
        return self.latent.clone()
