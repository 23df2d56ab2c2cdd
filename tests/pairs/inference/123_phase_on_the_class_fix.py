"""Fixed form: the pruning is a mask on the device that the engine fills."""

import torch
import torch.nn as nn


class Policy:
    phase = 0
    last = 3

    @classmethod
    def advance(cls) -> None:
        cls.phase += 1

    @classmethod
    def keep_all(cls) -> bool:
        return cls.phase < cls.last


class PrunedAttention(nn.Module):
    def __init__(self, width: int, keys: int):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(keys, width))
        self.register_buffer("pruned", torch.zeros(keys, dtype=torch.bool))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = (self.q(x) @ self.keys.t()).masked_fill(self.pruned, -1e9)
        return scores.softmax(-1) @ self.keys


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
        self.attn.pruned.zero_()
        if not Policy.keep_all():
            self.attn.pruned[1::2].fill_(True)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
