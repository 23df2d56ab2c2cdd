"""Named tuples are tuples: their fields come out in order when they are indexed, unpacked or iterated over."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
from typing import NamedTuple

import torch

class Pair(NamedTuple):
    low: torch.Tensor
    high: torch.Tensor

class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.out = Pair(self.x * 2, self.x * 3)

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return {given}

def collect(runner: Runner, xs):
    kept = []
    for x in xs:
        kept.append(runner(x).high)  # {mark}: CG201
    return torch.cat(kept)
"""


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        ("self.out", "expect"),
        ("Pair(*self.out)", "expect"),
        ("Pair(self.out[0], self.out[1])", "expect"),
        ("Pair(*(t[:2] for t in self.out))", "expect"),
        ("Pair(*(t.clone() for t in self.out))", "ok"),
    ],
)
def test_an_output_goes_through_a_named_tuple(given: str, mark: str) -> None:
    check_marks(PROGRAM.format(given=given, mark=mark), select=("CG201",))


REPLACED = """
from typing import NamedTuple

import torch

class Plan(NamedTuple):
    rows: torch.Tensor
    name: str

class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.plan = Plan(torch.zeros(4, dtype=torch.long, device="cuda"), "first")
        self.graph = torch.cuda.CUDAGraph()

    def forward(self):
        rows, _ = self.plan
        return self.x[rows] * 2

    def record(self):
        self.forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def step(self, x, rows: torch.Tensor):
        {update}  # {mark}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("update", "mark"),
    [
        ("self.plan = self.plan._replace(rows=rows.cuda())", "expect: CG101"),
        ("self.plan = self.plan._replace(name='next')", "ok: CG101"),
        ("self.plan.rows.copy_(rows)", "ok: CG101"),
    ],
)
def test_a_named_tuple_with_one_field_replaced(update: str, mark: str) -> None:
    check_marks(REPLACED.format(update=update, mark=mark))
