"""Source: huggingface/diffusers#10316 (guidance interval), Lightricks/LTX-Video#127

Fixed form: whether guidance applies is a mask on the device.
"""

import itertools

import torch
import torch.nn as nn


class GuidanceInterval:
    def __init__(self, start: float, stop: float, scale: float):
        self.start, self.stop, self.scale = start, stop, scale

    def covers(self, timestep: torch.Tensor) -> torch.Tensor:
        return (timestep >= self.start) & (timestep <= self.stop)

    def combine(self, uncond: torch.Tensor, cond: torch.Tensor) -> torch.Tensor:
        return uncond + self.scale * (cond - uncond)


class GuidedDenoiser(nn.Module):
    def __init__(self, net: nn.Module, interval: GuidanceInterval):
        super().__init__()
        self.net, self.interval = net, interval

    def forward(self, latents: torch.Tensor, timestep: torch.Tensor) -> torch.Tensor:
        cond, uncond = self.net(torch.cat([latents, latents])).chunk(2)
        return torch.where(self.interval.covers(timestep), self.interval.combine(uncond, cond), cond)


class VideoPipeline:
    def __init__(self, denoiser: GuidedDenoiser, shape: tuple[int, ...]):
        self.denoiser = denoiser.cuda().eval()
        self.latents = torch.zeros(shape, device="cuda")
        self.timestep = torch.ones((), device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def prepare(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.denoiser(self.latents, self.timestep)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.velocity = self.denoiser(self.latents, self.timestep)

    def __call__(self, latents: torch.Tensor, timesteps: list[float]) -> torch.Tensor:
        for now, after in itertools.pairwise(timesteps):
            self.latents.copy_(latents)
            self.timestep.fill_(now)
            self.graph.replay()
            latents = latents + (after - now) * self.velocity
        return latents
