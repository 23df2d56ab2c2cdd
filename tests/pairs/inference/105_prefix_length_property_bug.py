"""Symptom: the shared prefix of a session is a property with a setter; the captured attention slices its
cache with the length that was set before the capture.
"""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class SessionConfig:
    max_length: int
    prefix: int = 16


class PrefixCache:
    def __init__(self, config: SessionConfig, width: int):
        self._prefix = config.prefix
        self.keys = torch.zeros(config.max_length, width, device="cuda")

    @property
    def prefix(self) -> int:
        return self._prefix

    @prefix.setter
    def prefix(self, value: int) -> None:
        if not 0 < value <= self.keys.shape[0]:
            raise ValueError(f"prefix of {value} tokens")
        self._prefix = value  # HAZARD: frozen-scalar

    def shared(self) -> torch.Tensor:
        return self.keys[: self.prefix]  # ALT: frozen-scalar


class PrefixAttention(nn.Module):
    def __init__(self, width: int, cache: PrefixCache):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.cache = cache

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keys = self.cache.shared()
        return (self.q(x) @ keys.t()).softmax(-1) @ keys


class Session:
    def __init__(self, config: SessionConfig, width: int, batch: int):
        self.cache = PrefixCache(config, width)
        self.attn = PrefixAttention(width, self.cache).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def capture(self) -> None:
        for _ in range(2):
            self.attn(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.attn(self.x)

    def begin(self, prompt: torch.Tensor) -> None:
        self.cache.prefix = prompt.shape[0]
        self.cache.keys[: prompt.shape[0]].copy_(prompt)

    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
