"""Seen in huggingface/diffusers#14176 (and #11696).

Symptom: nobody tells the scheduler where the loop begins, so step() searches the timestep among
its timesteps and brings the hit to the host, inside the captured denoising step.
"""

import torch
import torch.nn as nn


class FlowScheduler:
    def __init__(self, steps: int):
        self.sigmas = torch.linspace(1.0, 0.0, steps + 1, device="cuda")
        self.timesteps = self.sigmas[:-1] * 1000
        self._begin_index: int | None = None
        self._step_index: int | None = None
        self.sigma = torch.zeros((), device="cuda")
        self.sigma_next = torch.zeros((), device="cuda")

    def set_begin_index(self, index: int = 0) -> None:
        self._begin_index = index

    def index_for_timestep(self, timestep: torch.Tensor) -> int:
        hits = (self.timesteps == timestep).nonzero()
        return hits[0].item()

    def prepare(self, timestep: torch.Tensor) -> None:
        """Before each replay, on the host."""
        i = self.index_for_timestep(timestep)
        self.sigma.copy_(self.sigmas[i])
        self.sigma_next.copy_(self.sigmas[i + 1])

    def step(self, velocity: torch.Tensor, timestep: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
        return sample + (self.sigma_next - self.sigma) * velocity


class GraphedDenoiser:
    def __init__(self, net: nn.Module, scheduler: FlowScheduler, shape: tuple[int, ...]):
        self.net, self.scheduler = net, scheduler
        self.latents = torch.zeros(shape, device="cuda")
        self.t = torch.zeros((), device="cuda")
        self.t.copy_(scheduler.timesteps[0])
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> torch.Tensor:
        velocity = self.net(self.latents, self.t)
        return self.scheduler.step(velocity, self.t, self.latents)

    @torch.inference_mode()
    def capture(self) -> None:
        self._step()
        self._step()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.next = self._step()

    @torch.inference_mode()
    def __call__(self, noise: torch.Tensor) -> torch.Tensor:
        self.latents.copy_(noise)
        for t in self.scheduler.timesteps:
            self.t.copy_(t)
            self.scheduler.prepare(self.t)
            self.graph.replay()
            self.latents.copy_(self.next)
        return self.latents.clone()
