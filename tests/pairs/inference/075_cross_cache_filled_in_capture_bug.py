"""Symptom: the encoder-decoder cache allocates its cross-attention keys on the first decoding step. The
warm-up ran with another cache object, so that step is the captured one and the keys live in its pool.
"""

import torch
import torch.nn as nn


class LayerCache:
    def __init__(self):
        self.keys: torch.Tensor | None = None
        self.values: torch.Tensor | None = None

    @property
    def is_initialised(self) -> bool:
        return self.keys is not None

    def lazy_init(self, like: torch.Tensor) -> None:
        self.keys = torch.zeros_like(like)  # HAZARD: alloc-in-capture
        self.values = torch.zeros_like(like)  # HAZARD: alloc-in-capture

    def update(self, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialised:
            self.lazy_init(k)
        self.keys.copy_(k)
        self.values.copy_(v)
        return self.keys, self.values


class CrossCache:
    def __init__(self, layers: int):
        self.layers = [LayerCache() for _ in range(layers)]


class CrossLayer(nn.Module):
    def __init__(self, width: int, index: int):
        super().__init__()
        self.q, self.kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.index = index

    def forward(self, x: torch.Tensor, encoded: torch.Tensor, cache: CrossCache) -> torch.Tensor:
        k, v = cache.layers[self.index].update(*self.kv(encoded).chunk(2, dim=-1))
        return x + (self.q(x) @ k.transpose(-1, -2)).softmax(-1) @ v


class Decoder(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList(CrossLayer(width, i) for i in range(depth))

    def forward(self, x: torch.Tensor, encoded: torch.Tensor, cache: CrossCache) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, encoded, cache)
        return x


class Generator:
    def __init__(self, width: int, depth: int, source: int):
        self.decoder = Decoder(width, depth).cuda().eval()
        self.depth = depth
        self.x = torch.zeros(1, 1, width, device="cuda")
        self.encoded = torch.zeros(1, source, width, device="cuda")
        self.cache = CrossCache(depth)
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def compile(self) -> None:
        throwaway = CrossCache(self.depth)
        for _ in range(2):
            self.decoder(self.x, self.encoded, throwaway)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.decoder(self.x, self.encoded, self.cache)

    def step(self, x: torch.Tensor, encoded: torch.Tensor) -> torch.Tensor:
        self.encoded.copy_(encoded)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    def cached_keys(self) -> list[torch.Tensor]:
        return [layer.keys for layer in self.cache.layers]
