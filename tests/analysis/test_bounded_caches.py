"""Memory that only a bounded cache owns dies when the cache asks for its place."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

TABLES = """\
from functools import lru_cache
import torch

{decorator}
def table(size: int):
    return torch.ones(size, device="cuda")

class Runner:
    def __init__(self, width: int):
        self.inputs = [torch.zeros({first}, width, device="cuda"), torch.zeros({second}, width, device="cuda")]
        self.graphs = []
        for x in self.inputs:
            y = x * table(x.shape[0])[:, None]{mark}
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = x * table(x.shape[0])[:, None]
            self.graphs.append((graph, y))
"""


@pytest.mark.parametrize("decorator", ["@lru_cache(maxsize=1)", "@lru_cache(1)"])
def test_the_second_size_takes_the_place_of_the_first(decorator: str) -> None:
    program = TABLES.format(decorator=decorator, first=64, second=32, mark="  # expect: CG103")
    check_marks(program, select=("CG103",))


@pytest.mark.parametrize(
    ("decorator", "second"),
    [
        ("@lru_cache(maxsize=1)", 64),
        ("@lru_cache(maxsize=2)", 32),
        ("@lru_cache(maxsize=None)", 32),
        ("@lru_cache", 32),
    ],
)
def test_there_is_room_for_both(decorator: str, second: int) -> None:
    check_marks(TABLES.format(decorator=decorator, first=64, second=second, mark=""), select=("CG103",))
