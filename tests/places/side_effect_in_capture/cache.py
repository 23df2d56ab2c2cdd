"""A cache with a write position, and layers that remember whether they ran."""

import torch
from torch import nn


class Cache:
    def __init__(self, limit: int, width: int):
        self.keys = torch.zeros(limit, width, device="cuda")
        self.used = 0
        self.log = []
        self.outputs = []

    def append(self, key: torch.Tensor):
        self.keys[0:1] = key
        self.used += 1  # expect: CG403
        self.log.append("appended")  # expect: CG403
        self.outputs.append(key * 2)  # ok: CG403


class Layer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.dirty = False
        self.last_shape = None

    def forward(self, x):
        self.last_shape = x.shape  # ok: CG403
        self.dirty = True  # expect: CG403
        return torch.relu(self.linear(x))


class Decoder:
    def __init__(self, width: int):
        self.cache = Cache(128, width)
        self.layer = Layer(width).cuda()
        self.key = torch.zeros(1, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.layer(self.key)
        with torch.cuda.graph(self.graph):
            self.cache.append(self.layer(self.key))

    def step(self, key: torch.Tensor):
        self.key.copy_(key)
        self.graph.replay()
        if self.layer.dirty:
            self.layer.dirty = False
        if self.cache.used > 100:
            raise MemoryError("the cache is full")
        return self.cache.keys[: self.cache.used].clone()

    def describe(self):
        return ", ".join(line for line in self.cache.log)


def serve(decoder: Decoder, keys):
    for key in keys:
        print(decoder.step(key).shape)
        print(decoder.layer.last_shape, decoder.describe())
