"""Tests of what a call gave that nobody could follow: turned round or not, nothing is known of the answer."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """
import torch
from elsewhere import policy


class Rounds:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = None

    def body(self, depth: int, last: bool):
        if {test}:  # {mark}: CG402
            self.x.mul_(2)

    def run(self, depth: int, last: bool):
        if self.graph is None:
            self.body(depth, last)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.body(depth, last)
        self.graph.replay()
"""


@pytest.mark.parametrize(
    ("test", "mark"),
    [
        ("policy.is_even(depth)", "ok"),
        ("not policy.is_even(depth)", "ok"),
        ("not last", "expect"),
        ("depth % 2 == 0", "expect"),
    ],
)
def test_an_answer_that_was_not_followed(test: str, mark: str) -> None:
    check_marked_rules(PROGRAM.format(test=test, mark=mark))
