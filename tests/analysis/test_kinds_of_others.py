"""`dtype=x.dtype` makes a tensor of the kind of the other one, of no known kind where that has none."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

PROGRAM = """
import torch

class Lengths:
    def __init__(self, lengths: torch.Tensor):
        self.given = lengths
        self.whole = torch.zeros(8, dtype=torch.int32, device="cuda")
        self.parts = torch.zeros(8, dtype=torch.float32, device="cuda")
        self.static = torch.zeros(8, dtype=torch.int32, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.static * 2

    def step(self):
        made = torch.empty(8, dtype={dtype}, device="cuda")
        self.static.copy_(made)  # {mark}: CG108
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("dtype", "mark"),
    [
        ("self.given.dtype", "ok"),
        ("self.whole.dtype", "ok"),
        ("self.parts.dtype", "expect"),
        ("torch.float32", "expect"),
        ("None", "expect"),
    ],
)
def test_a_copy_into_an_input_of_whole_numbers(dtype: str, mark: str) -> None:
    check(PROGRAM.format(dtype=dtype, mark=mark))
