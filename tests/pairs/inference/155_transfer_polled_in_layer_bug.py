"""Drawn from hierarchical KV caches in sglang (layer-wise loading with counters and events).

Symptom: before it touches its cache, each layer asks whether the loading of this layer is done. Asking
an event is not allowed while the stream is captured.
"""

import torch
import torch.nn as nn


class LayerLoader:
    def __init__(self, layers: int):
        self.stream = torch.cuda.Stream()
        self.events = [torch.cuda.Event() for _ in range(layers)]
        self.loaded = [True] * layers

    def start(self, host: list[torch.Tensor], device: list[torch.Tensor]) -> None:
        with torch.cuda.stream(self.stream):
            for i, (source, target) in enumerate(zip(host, device)):
                target.copy_(source, non_blocking=True)
                self.events[i].record()
                self.loaded[i] = False

    def ensure(self, layer: int) -> None:
        while not self.events[layer].query():  # HAZARD: sync-in-capture
            pass
        self.loaded[layer] = True

    def ensure_all(self) -> None:
        for layer in range(len(self.events)):
            torch.cuda.current_stream().wait_event(self.events[layer])
            self.loaded[layer] = True


class CachedLayer(nn.Module):
    def __init__(self, index: int, width: int, cache: torch.Tensor, loader: LayerLoader):
        super().__init__()
        self.index, self.cache, self.loader = index, cache, loader
        self.q = nn.Linear(width, width, device="cuda")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.loader.ensure(self.index)
        return x + torch.softmax(self.q(x) @ self.cache.T, -1) @ self.cache


class HierarchicalRunner:
    def __init__(self, layers: int, width: int, slots: int):
        self.loader = LayerLoader(layers)
        self.caches = [torch.zeros(slots, width, device="cuda") for _ in range(layers)]
        self.layers = [CachedLayer(i, width, c, self.loader) for i, c in enumerate(self.caches)]
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        x = self.x
        for layer in self.layers:
            x = layer(x)
        return x

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._forward()

    @torch.inference_mode()
    def step(self, x: torch.Tensor, host: list[torch.Tensor] | None = None) -> torch.Tensor:
        if host is not None:
            self.loader.start(host, self.caches)
        self.loader.ensure_all()
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
