"""Wrappers that keep an entry for each size, and tell by a field of it whether it was captured."""

from __future__ import annotations

import pytest

from tests.programs import check_marks


def _engine(test: str, send: str) -> str:
    return f"""
import torch

class Entry:
    def __init__(self, key):
        self.key = key
        self.graph: torch.cuda.CUDAGraph | None = None
        self.out = None

class Wrapper:
    def __init__(self, runnable):
        self.runnable = runnable
        self.pool = torch.cuda.graph_pool_handle()
        self.entries: dict[int, Entry] = {{}}

    def __call__(self, key: int, *args):
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = Entry(key)
        if {test}:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                out = self.runnable(*args)
            entry.graph, entry.out = graph, out
            return out
        entry.graph.replay()
        return entry.out

class Buffer:
    def __init__(self, size: int):
        self.cpu = torch.zeros(size, dtype=torch.int64, pin_memory=True)
        self.gpu = torch.zeros(size, dtype=torch.int64, device="cuda")

    def send(self, n: int) -> None:
        {send}

class Engine:
    def __init__(self, model, sizes: list[int]):
        self.model = Wrapper(model)
        self.sizes = sizes
        self.ids = Buffer(max(sizes))
        for size in sorted(sizes, reverse=True):
            self.model.runnable(self.ids.gpu[:size])
            self.model(size, self.ids.gpu[:size])

    def step(self, tokens: list[int]) -> torch.Tensor:
        n = len(tokens)
        size = next(size for size in self.sizes if size >= n)
        self.ids.cpu[:n] = torch.tensor(tokens)
        self.ids.send(size)
        return self.model(size, self.ids.gpu[:size]).clone()
"""


TESTS = ["entry.graph is None", "not entry.graph", "not (entry.graph is not None)"]
REBOUND = "self.gpu = self.cpu.to('cuda', non_blocking=True)  # expect: CG101"


@pytest.mark.parametrize("test", TESTS)
def test_an_entry_that_has_a_graph_is_not_captured_again(test: str) -> None:
    check_marks(_engine(test, REBOUND))


def test_memory_that_stays_is_silent() -> None:
    check_marks(_engine(TESTS[0], "self.gpu[:n].copy_(self.cpu[:n], non_blocking=True)"))


@pytest.mark.parametrize(
    ("rate", "expected"), [("self.rate", "  # expect: CG402"), ("self.rates", "")], ids=["number", "tensor"]
)
def test_a_class_of_contexts_that_captures_does_so_where_it_is_entered(rate: str, expected: str) -> None:
    check_marks(
        f"""
import torch

class Recording:
    def __init__(self, graph):
        self.inner = torch.cuda.graph(graph)

    def __enter__(self):
        return self.inner.__enter__()

    def __exit__(self, *error):
        return self.inner.__exit__(*error)

class Step:
    def __init__(self, weight: torch.Tensor, eager: int = 10):
        self.weight, self.left = weight, eager
        self.rate, self.rates = 0.1, torch.full((), 0.1, device="cuda")
        self.out = torch.zeros_like(weight)
        self.graph = None

    def update(self) -> None:
        self.out.copy_(self.weight * {rate}){expected}

    def step(self) -> None:
        if self.left > 0:
            self.left -= 1
            self.update()
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with Recording(self.graph):
                self.update()
        self.graph.replay()

def train(weight: torch.Tensor, epochs: int):
    stepper = Step(weight.cuda())
    for epoch in range(epochs):
        stepper.rate = 0.9**epoch
        stepper.rates.fill_(0.9**epoch)
        stepper.step()
"""
    )
