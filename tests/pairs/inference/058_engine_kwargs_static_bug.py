"""Symptom: the engine keeps the keyword tensors of the first call as static inputs and swaps the dict
for that of the current call.
"""

import torch
import torch.nn as nn


class GraphedPipelinePart(nn.Module):
    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner
        self.static_kwargs: dict[str, torch.Tensor] = {}
        self.graph = None

    def _capture(self, **kwargs: torch.Tensor) -> None:
        self.static_kwargs = {name: value.clone() for name, value in kwargs.items()}
        for _ in range(3):
            self.inner(**self.static_kwargs)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.static_output = self.inner(**self.static_kwargs)

    def _replay(self, **kwargs: torch.Tensor) -> torch.Tensor:
        self.static_kwargs = kwargs  # HAZARD: rebind-static-input
        self.graph.replay()
        return self.static_output.clone()

    @torch.inference_mode()
    def forward(self, **kwargs: torch.Tensor) -> torch.Tensor:
        if self.graph is None:
            self._capture(**kwargs)
        return self._replay(**kwargs)


class Denoiser(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.net = nn.Linear(width, width)

    def forward(self, latent: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        return self.net(latent) + context


def images(latents: list[torch.Tensor], context: torch.Tensor, width: int) -> list[torch.Tensor]:
    part = GraphedPipelinePart(Denoiser(width).cuda())
    return [part(latent=latent, context=context) for latent in latents]
