"""Drawn from diffusers and peft (`set_adapters` with weights).

Symptom: the weight of an adapter is a Python float on each wrapped layer. Setting it for the next image
changes the attribute; the captured transformer has multiplied by the float of the first image.
"""

import torch
import torch.nn as nn


class LoraLinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        self.scale = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.scale * self.up(self.down(x))  # HAZARD: frozen-scalar


class Transformer(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.blocks = nn.ModuleList(LoraLinear(nn.Linear(width, width), 8) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = x + torch.tanh(block(x))
        return x


class Pipeline:
    def __init__(self, width: int, depth: int = 4):
        self.transformer = Transformer(width, depth).cuda().eval()
        self.latents = torch.zeros(1, width, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def set_adapter_weight(self, weight: float) -> None:
        for module in self.transformer.modules():
            if isinstance(module, LoraLinear):
                module.scale = weight  # ALT: frozen-scalar

    def _capture(self) -> None:
        for _ in range(2):
            self.transformer(self.latents)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.transformer(self.latents)

    @torch.inference_mode()
    def __call__(self, latents: torch.Tensor, steps: int) -> torch.Tensor:
        if self.graph is None:
            self._capture()
        for _ in range(steps):
            self.latents.copy_(latents)
            self.graph.replay()
            latents = latents - self.out / steps
        return latents
