"""After an int8 linear layer that remembers which of its kernels is fastest.

Fixed form: the key holds the dtype and shape of the scale.
"""

from __future__ import annotations

import torch
import torch.nn as nn


def _plain(x, w, scale):
    return (x @ w.t()) * scale


def _split(x, w, scale):
    half = x.shape[1] // 2
    return (x[:, :half] @ w[:, :half].t() + x[:, half:] @ w[:, half:].t()) * scale


KERNELS = {"plain": _plain, "split": _split}
BEST: dict[str, str] = {}


def cache_key(x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor) -> str:
    parts = [str(tuple(x.shape)), str(tuple(w.shape)), str(scale.dtype), str(tuple(scale.shape))]
    return "/".join(parts)


def scaled_mm(x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    name = BEST.get(cache_key(x, w, scale), "plain")
    return KERNELS[name](x, w, scale)


class Int8Linear(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("weight", torch.zeros(width, width, device="cuda"))
        self.register_buffer("scale", torch.ones((), device="cuda"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return scaled_mm(x, self.weight, self.scale)


class GraphedForward:
    """Sits in the place of a module's forward and records one graph for each input shape."""

    def __init__(self, module: nn.Module):
        self.call = module.forward
        self.graphs: dict[tuple[int, ...], tuple] = {}

    def _record(self, x: torch.Tensor):
        static = x.clone()
        for _ in range(3):
            self.call(static)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            out = self.call(static)
        return graph, static, out

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        key = tuple(x.shape)
        if key not in self.graphs:
            self.graphs[key] = self._record(x)
        graph, static, out = self.graphs[key]
        static.copy_(x)
        graph.replay()
        return out.clone()


def install(transformer: nn.Module) -> nn.Module:
    transformer.forward = GraphedForward(transformer)
    return transformer


def load_pipeline(width: int, depth: int) -> nn.Module:
    layers = [Int8Linear(width) for _ in range(depth)]
    return install(nn.Sequential(*layers).eval())
