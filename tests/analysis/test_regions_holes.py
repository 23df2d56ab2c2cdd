"""Holes: code called inside a region that runs outside the graph."""

from __future__ import annotations

from tests.programs import check_marked_rules


def test_a_decorator_that_ends_the_capture_and_begins_another() -> None:
    check_marked_rules(
        """
import functools

import torch


class Breakable:
    current = None

    def __init__(self):
        self.graphs = []

    def begin(self):
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        self.graphs.append(graph)
        Breakable.current = self

    def end(self):
        self.graphs[-1].capture_end()
        Breakable.current = None


def outside(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        region = Breakable.current
        if region is None:
            return fn(*args)
        region.end()
        out = fn(*args)
        region.begin()
        return out

    return wrapper


@outside
def attention(x):
    return x * x.max().item()  # ok: CG302


def norm(x):
    return x * x.min().item()  # expect: CG302


def record():
    x = torch.zeros(4, device="cuda")
    region = Breakable()
    region.begin()
    x = norm(x)
    x = attention(x)
    x = norm(x)
    region.end()
    x.sum().item()  # ok: CG302
"""
    )


def test_eager_code_in_a_compiled_callable() -> None:
    check_marked_rules(
        """
import torch

CACHE = {}


@torch.compiler.disable
def attention(x):
    return x * x.max().item()  # ok: CG302


@torch.compile(mode="reduce-overhead")
def step(x):
    return attention(x * 2) + 1


def main(batches: list[torch.Tensor]):
    for batch in batches:
        print(step(batch).sum().item())  # ok: CG302
"""
    )


def test_work_between_two_regions() -> None:
    check_marked_rules(
        """
import torch


class Pieces:
    def __init__(self, first: torch.nn.Module, second: torch.nn.Module):
        self.first, self.second = first, second
        self.x = torch.zeros(4, device="cuda")
        self.graphs = []

    def record(self, fn, *args):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = fn(*args)
        self.graphs.append(graph)
        return out

    def capture(self):
        h = self.record(self.first, self.x)
        n = self.choose(h)
        self.record(self.finish, h, n)

    def choose(self, h):
        return h.argmax().item()  # ok: CG302

    def finish(self, h, n):
        return self.second(h).max().item()  # expect: CG302
"""
    )
