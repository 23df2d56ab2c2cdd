"""Clean: graphs keyed by shape, dtype and mode; inputs flattened from nested containers and copied
leaf by leaf; outputs rebuilt from clones; a context manager turns the cache off."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

Tree = Any


def leaves(tree: Tree) -> list[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in leaves(item)]
    return []


def mapped(fn: Callable[[torch.Tensor], torch.Tensor], tree: Tree) -> Tree:
    if isinstance(tree, torch.Tensor):
        return fn(tree)
    if isinstance(tree, dict):
        return {key: mapped(fn, value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(mapped(fn, item) for item in tree)
    return tree


class Entry:
    def __init__(self, fn: Callable, args: tuple, pool):
        self.args = mapped(torch.clone, args)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                fn(*self.args)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.result = fn(*self.args)

    def replay(self, args: tuple) -> Tree:
        for static, given in zip(leaves(self.args), leaves(args)):
            static.copy_(given)
        self.graph.replay()
        return mapped(torch.clone, self.result)


class CachedStep:
    def __init__(self, fn: Callable, module: torch.nn.Module):
        self.fn, self.module = fn, module
        self.entries: dict[tuple, Entry] = {}
        self.pool = torch.cuda.graph_pool_handle()
        self.enabled = True

    @contextlib.contextmanager
    def eager(self):
        before, self.enabled = self.enabled, False
        try:
            yield self
        finally:
            self.enabled = before

    def key(self, args: tuple) -> tuple:
        return (*tuple((leaf.shape, leaf.dtype) for leaf in leaves(args)), self.module.training)

    @torch.no_grad()
    def __call__(self, *args) -> Tree:
        if not self.enabled:
            return self.fn(*args)
        key = self.key(args)
        if key not in self.entries:
            self.entries[key] = Entry(self.fn, args, self.pool)
        return self.entries[key].replay(args)


def sample(model: torch.nn.Module, noise: torch.Tensor, steps: int, cond: dict) -> torch.Tensor:
    step = CachedStep(lambda x, t, c: model(x, t, c["text"], c["size"]), model)
    x = noise
    for t in torch.linspace(1.0, 0.0, steps, device="cuda"):
        x = x - step(x, t, cond) / steps
    with step.eager():
        return step(x, torch.zeros((), device="cuda"), cond)
