"""Source: huggingface/diffusers#9475, siliconflow/onediff#1011

Fixed form: the generator is registered with the graph before the step is recorded.
"""

import inspect

import torch
import torch.nn as nn


class EulerScheduler:
    def __init__(self, sigma: float):
        self.sigma = sigma

    def step(self, eps: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
        return sample - self.sigma * eps


class AncestralScheduler(EulerScheduler):
    def step(self, eps: torch.Tensor, sample: torch.Tensor, generator=None) -> torch.Tensor:
        noise = torch.randn(sample.shape, device=sample.device, generator=generator)
        return super().step(eps, sample) + self.sigma * noise


class GraphedPipeline:
    def __init__(self, unet: nn.Module, shape: tuple[int, ...], seed: int):
        self.unet = unet.cuda().eval()
        self.scheduler = AncestralScheduler(0.1)
        self.generator = torch.Generator("cuda").manual_seed(seed)
        self.latents = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def prepare_extra_step_kwargs(self) -> dict:
        kwargs = {}
        if "generator" in inspect.signature(self.scheduler.step).parameters:
            kwargs["generator"] = self.generator
        return kwargs

    def _step(self, **extra) -> torch.Tensor:
        return self.scheduler.step(self.unet(self.latents), self.latents, **extra)

    @torch.inference_mode()
    def capture(self) -> None:
        extra = self.prepare_extra_step_kwargs()
        for _ in range(2):
            self._step(**extra)
        torch.cuda.synchronize()
        self.graph.register_generator_state(self.generator)
        with torch.cuda.graph(self.graph):
            self.next = self._step(**extra)

    def __call__(self, steps: int) -> torch.Tensor:
        self.latents.normal_()
        for _ in range(steps):
            self.graph.replay()
            self.latents.copy_(self.next)
        return self.latents.clone()
