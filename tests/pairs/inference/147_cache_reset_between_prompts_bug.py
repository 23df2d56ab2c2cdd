"""Drawn from transformers' static caches and user code around them.

Symptom: reset() gives every layer of the cache new tensors. It is called between prompts; the decode
graph was recorded with the tensors of the first prompt.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    layers: int = 2
    heads: int = 4
    head_dim: int = 32
    vocabulary: int = 512
    positions: int = 1024

    @property
    def width(self) -> int:
        return self.heads * self.head_dim


class CacheLayer(ABC):
    @abstractmethod
    def update(self, k: torch.Tensor, v: torch.Tensor, position: torch.Tensor): ...

    @abstractmethod
    def reset(self) -> None: ...


class StaticLayer(CacheLayer):
    def __init__(self, config: ModelConfig):
        self.shape = (config.heads, config.positions, config.head_dim)
        self.keys = torch.zeros(self.shape, device="cuda")
        self.values = torch.zeros(self.shape, device="cuda")

    def update(self, k, v, position):
        self.keys.index_copy_(1, position, k)
        self.values.index_copy_(1, position, v)
        return self.keys, self.values

    def reset(self) -> None:
        self.keys = torch.zeros_like(self.keys)  # HAZARD: rebind-static-input
        self.values = torch.zeros_like(self.values)  # HAZARD: rebind-static-input


class Cache:
    def __init__(self, layers: Iterable[CacheLayer]):
        self.layers = list(layers)

    def update(self, index: int, k, v, position):
        return self.layers[index].update(k, v, position)

    def reset(self) -> None:
        for layer in self.layers:
            layer.reset()


class Attention(nn.Module):
    def __init__(self, config: ModelConfig, index: int):
        super().__init__()
        self.config, self.index = config, index
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x: torch.Tensor, position: torch.Tensor, cache: Cache) -> torch.Tensor:
        tokens = x.shape[0]
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        split = (tokens, self.config.heads, self.config.head_dim)
        q, k, v = (t.view(split).transpose(0, 1) for t in (q, k, v))
        keys, values = cache.update(self.index, k, v, position)
        seen = torch.arange(keys.shape[1], device=x.device)[None] <= position[:, None]
        y = F.scaled_dot_product_attention(q[None], keys[None], values[None], attn_mask=seen)[0]
        return self.out(y.transpose(0, 1).reshape(tokens, -1))


class LanguageModel(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(Attention(config, i) for i in range(config.layers))
        self.head = nn.Linear(config.width, config.vocabulary)

    def forward(self, ids: torch.Tensor, position: torch.Tensor, cache: Cache) -> torch.Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = x + block(x, position, cache)
        return self.head(x[-1])


class Generator:
    def __init__(self, config: ModelConfig | None = None):
        self.config = config or ModelConfig()
        self.model = LanguageModel(self.config).cuda().eval()
        self.cache = Cache(StaticLayer(self.config) for _ in range(self.config.layers))
        self.ids = torch.zeros(1, dtype=torch.long, device="cuda")
        self.position = torch.zeros(1, dtype=torch.long, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def _record(self) -> None:
        for _ in range(2):
            self.model(self.ids, self.position, self.cache)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = self.model(self.ids, self.position, self.cache)

    def _decode(self, token: int, position: int) -> int:
        if self.graph is None:
            self._record()
        self.ids.fill_(token)
        self.position.fill_(position)
        self.graph.replay()
        return self.logits.argmax().item()

    @torch.inference_mode()
    def generate(self, prompt: list[int], new_tokens: int) -> list[int]:
        self.cache.reset()
        positions = torch.arange(len(prompt), device="cuda")
        ids = torch.tensor(prompt, device="cuda")
        token = self.model(ids, positions, self.cache).argmax().item()
        produced = [token]
        for offset in range(new_tokens - 1):
            token = self._decode(token, len(prompt) + offset)
            produced.append(token)
        return produced
