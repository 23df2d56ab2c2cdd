"""Clean: a pass is cut into segments, each a graph; callbacks run between them, read what they like and write
into the static boundary buffers.
"""

from collections.abc import Callable

import torch
import torch.nn as nn

Callback = Callable[[int, torch.Tensor], None]


class Segment:
    def __init__(self, layers: list[nn.Module], inp: torch.Tensor, out: torch.Tensor, pool):
        self.layers, self.inp, self.out = layers, inp, out
        self.graph = torch.cuda.CUDAGraph()
        for _ in range(2):
            self._run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, pool=pool):
            self._run()

    def _run(self) -> None:
        x = self.inp
        for layer in self.layers:
            x = torch.relu(layer(x))
        self.out.copy_(x)


class SegmentedModel:
    def __init__(self, layers: list[nn.Module], every: int, batch: int, width: int):
        count = len(layers) // every
        self.buffers = [torch.zeros(batch, width, device="cuda") for _ in range(count + 1)]
        self.callbacks: list[Callback] = []
        pool = torch.cuda.graph_pool_handle()
        with torch.inference_mode():
            self.segments = [
                Segment(layers[i * every : (i + 1) * every], self.buffers[i], self.buffers[i + 1], pool)
                for i in range(count)
            ]

    def on_boundary(self, callback: Callback) -> None:
        self.callbacks.append(callback)

    @torch.inference_mode()
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.buffers[0].copy_(x)
        for i, segment in enumerate(self.segments):
            segment.graph.replay()
            for callback in self.callbacks:
                callback(i, segment.out)
        return self.buffers[-1].clone()


def steer(model: SegmentedModel, direction: torch.Tensor, log: list[float]) -> None:
    def add(index: int, hidden: torch.Tensor) -> None:
        if index == 1:
            hidden.add_(direction)
        log.append(hidden.norm().item())

    model.on_boundary(add)
