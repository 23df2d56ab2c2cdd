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
