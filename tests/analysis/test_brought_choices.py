"""Choices that each call brings and captured code tests; loading before a capture, and again after it."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

CHOICE = """
import enum

import torch

class Kind(enum.Enum):
    PLAIN = 1
    FULL = 2

class Runner:
    def __init__(self):
        self.kind = {first}
        self.x = torch.zeros(4, device="cuda")
        self.graphs, self.outs = {{}}, {{}}
        self.pool = torch.cuda.graph_pool_handle()
        self.record()

    def forward(self):
        y = self.x * 2
        if self.kind == {other}:  # {mark}
            y = y + 1
        return y

    def record(self):
        for rows in (4, 2):
            self.forward()
            torch.cuda.synchronize()
            self.graphs[rows] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[rows], pool=self.pool):
                self.outs[rows] = self.forward()

    def step(self, x, kind: {type}, rows):
        if kind != self.kind:
            self.kind = kind
            {then}
        self.x.copy_(x)
        self.graphs[rows].replay()
        return self.outs[rows].clone()
"""


@pytest.mark.parametrize(
    ("type", "first", "other", "then", "mark"),
    [
        ("Kind", "Kind.PLAIN", "Kind.FULL", "pass", "expect: CG402"),
        ("str", '"plain"', '"full"', "pass", "expect: CG402"),
        ("Kind", "Kind.PLAIN", "Kind.FULL", "self.record()", "ok: CG402"),
    ],
)
def test_a_choice_that_a_call_brings(type: str, first: str, other: str, then: str, mark: str) -> None:
    check_marks(CHOICE.format(type=type, first=first, other=other, then=then, mark=mark))


LOADING = """
import torch

class Engine:
    def __init__(self):
        self.x = torch.zeros(4, 4, device="cuda")
        self.weight = torch.zeros(4, 4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def load(self, weight: torch.Tensor):
        {store}  # {mark}

    def start(self, weight: torch.Tensor):
        self.load(weight)
        self.x @ self.weight
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.x @ self.weight

    def update(self, weight: torch.Tensor):
        self.load(weight)

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.outs[rows].clone()
"""


@pytest.mark.parametrize(
    ("store", "mark"),
    [("self.weight = weight.cuda()", "expect: CG101"), ("self.weight.copy_(weight)", "ok: CG101")],
)
def test_what_is_loaded_before_the_capture_is_loaded_again_after_it(store: str, mark: str) -> None:
    check_marks(LOADING.format(store=store, mark=mark))
