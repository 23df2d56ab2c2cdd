from __future__ import annotations

import torch
from torch import nn


class Voices:
    """Weights of several voices; the one that speaks is copied into the network."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.known: dict[str, dict[str, torch.Tensor]] = {}
        self.current: str | None = None

    def add(self, name: str, path: str) -> None:
        self.known[name] = torch.load(path, map_location="cpu")

    @torch.no_grad()
    def use(self, name: str) -> None:
        if name == self.current:
            return
        for key, parameter in self.network.named_parameters():
            parameter.copy_(self.known[name][key])
        self.current = name
