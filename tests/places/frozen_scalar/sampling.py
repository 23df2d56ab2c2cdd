"""Sampling settings that requests bring."""

import torch


class Settings:
    def __init__(self):
        self.temperature = 1.0
        self.top = 40
        self.penalty = torch.ones((), device="cuda")
        self.vocabulary = 32000

    def update(self, request):
        self.temperature = request.temperature
        self.top = request.top
        self.penalty.fill_(request.penalty)  # ok: CG402


def scores(logits: torch.Tensor, settings: Settings) -> torch.Tensor:
    scaled = logits / settings.temperature  # expect: CG402
    scaled = scaled / settings.penalty  # ok: CG402
    best = torch.topk(scaled, settings.top)  # expect: CG402
    return best.values / settings.vocabulary  # ok: CG402
