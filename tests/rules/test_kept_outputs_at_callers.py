"""CG201: an output that a function returns by contract is judged where its callers keep it."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch
from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class Record:
    value: torch.Tensor


class Row(NamedTuple):
    index: int
    value: torch.Tensor


class Graphed:
    def __init__(self, n):
        self.x = torch.zeros(n, device="cuda")
        self.x * 2.0
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2.0

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y


def outer(graphed, x):
    return graphed(x)


def main(inputs, a, b):
    graphed = Graphed(4)
"""


@pytest.mark.parametrize(
    "body",
    [
        """
        rows = [graphed(x) for x in inputs]  # expect: CG201
        return torch.stack(rows)
        """,
        """
        rows = []
        for x in inputs:
            rows.append(Record(graphed(x)))  # expect: CG201
        return torch.stack([row.value for row in rows])
        """,
        """
        rows = []
        for i, x in enumerate(inputs):
            rows.append(Row(i, outer(graphed, x)))  # expect: CG201
        return torch.stack([row.value for row in rows])
        """,
        """
        first = outer(graphed, a)  # expect: CG201
        second = outer(graphed, b)
        return first - second
        """,
        """
        rows = [graphed(x).clone() for x in inputs]
        return torch.stack(rows)
        """,
        """
        total = 0.0
        for x in inputs:
            total += Record(graphed(x)).value.sum().item()
        return total
        """,
    ],
)
def test_where_it_is_kept(body: str) -> None:
    check_marks(PROGRAM + indent(dedent(body), "    "))
