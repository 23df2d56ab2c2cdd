"""Source: huggingface/transformers#34678 (cache classes), pytorch-labs/gpt-fast#190

Symptom: the cache is written by a function that dispatches on its kind; the one for static caches
counts the tokens on the host and writes at that place, which is the place of the capture ever after.
"""

from functools import singledispatch

import torch
import torch.nn as nn


class StaticCache:
    def __init__(self, rows: int, width: int):
        self.keys = torch.zeros(rows, width, device="cuda")
        self.length = 0


class RingCache:
    def __init__(self, rows: int, width: int):
        self.keys = torch.zeros(rows, width, device="cuda")
        self.at = torch.zeros(1, dtype=torch.long, device="cuda")


@singledispatch
def write(cache, key: torch.Tensor) -> torch.Tensor:
    raise TypeError(type(cache).__name__)


@write.register
def _(cache: StaticCache, key: torch.Tensor) -> torch.Tensor:
    cache.keys[cache.length : cache.length + 1] = key  # HAZARD: frozen-scalar
    cache.length += 1  # ALT: frozen-scalar
    return cache.keys


@write.register
def _(cache: RingCache, key: torch.Tensor) -> torch.Tensor:
    cache.keys.index_copy_(0, cache.at, key)
    cache.at.add_(1).remainder_(cache.keys.shape[0])
    return cache.keys


class CachedAttention(nn.Module):
    def __init__(self, width: int, cache):
        super().__init__()
        self.k = nn.Linear(width, width)
        self.cache = cache

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keys = write(self.cache, self.k(x))
        return torch.softmax(x @ keys.t(), dim=-1) @ keys


def make_decoder(layer: CachedAttention, width: int):
    x = torch.zeros(1, width, device="cuda")
    with torch.inference_mode():
        for _ in range(2):
            layer(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = layer(x)

    def decode(new: torch.Tensor) -> torch.Tensor:
        x.copy_(new)
        graph.replay()
        return y.clone()

    return decode


class Session:
    def __init__(self, width: int, rows: int):
        self.layer = CachedAttention(width, StaticCache(rows, width)).cuda()
        self.decode = make_decoder(self.layer, width)

    def run(self, tokens: list[torch.Tensor]) -> list[torch.Tensor]:
        return [self.decode(token) for token in tokens]
