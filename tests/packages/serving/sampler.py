from __future__ import annotations

import torch
from torch import nn


class Sampler(nn.Module):
    def __init__(self, device: torch.device, temperature: float = 0.8) -> None:
        super().__init__()
        self.temperature = temperature
        self.generator = torch.Generator(device=device)

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        probabilities = (logits.float() / self.temperature).softmax(dim=-1)
        return torch.multinomial(probabilities, 1, generator=self.generator).squeeze(-1)
