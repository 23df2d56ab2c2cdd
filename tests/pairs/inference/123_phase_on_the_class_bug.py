"""Symptom: the warm phase of the cache policy is a class attribute that the scheduler advances; the captured
model has taken the branch of the phase at capture.
"""

import torch
import torch.nn as nn


class Policy:
    phase = 0
    last = 3

    @classmethod
    def advance(cls) -> None:
        cls.phase += 1  # HAZARD: frozen-scalar

    @classmethod
    def keep_all(cls) -> bool:
        return cls.phase < cls.last  # ALT: frozen-scalar


class PrunedAttention(nn.Module):
    def __init__(self, width: int, keys: int):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(keys, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keys = self.keys
        if not Policy.keep_all():  # ALT: frozen-scalar
            keys = keys[::2]
        return (self.q(x) @ keys.t()).softmax(-1) @ keys


class PhasedEngine:
    def __init__(self, width: int, keys: int, batch: int):
        self.attn = PrunedAttention(width, keys).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def capture(self) -> None:
        for _ in range(2):
            self.attn(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.attn(self.x)

    def step(self, x: torch.Tensor, finished: bool) -> torch.Tensor:
        if finished:
            Policy.advance()
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
