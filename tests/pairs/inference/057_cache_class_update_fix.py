"""Fixed form: the cache has its full length and is written at an index."""

import torch
import torch.nn as nn


class GrowingCache:
    def __init__(self, batch: int, limit: int, width: int):
        self.limit = limit
        self.keys = torch.zeros(batch, limit, width, device="cuda")

    def append(self, new: torch.Tensor, position: int) -> None:
        self.keys[:, position : position + new.shape[1]].copy_(new)


class CrossAttention(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.q = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, cache: GrowingCache) -> torch.Tensor:
        scores = self.q(x).unsqueeze(1) @ cache.keys.transpose(1, 2)
        return (scores.softmax(-1) @ cache.keys).squeeze(1)


class SpeechDecoder:
    def __init__(self, width: int, batch: int, limit: int):
        self.attention = CrossAttention(width).cuda()
        self.cache = GrowingCache(batch, limit, width)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = None

    def _record(self) -> None:
        for _ in range(2):
            self.attention(self.x, self.cache)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.attention(self.x, self.cache)

    @torch.inference_mode()
    def step(self, x: torch.Tensor, new_keys: torch.Tensor, position: int) -> torch.Tensor:
        self.x.copy_(x)
        if self.graph is None:
            self._record()
        self.graph.replay()
        self.cache.append(new_keys, position)
        return self.y.clone()
