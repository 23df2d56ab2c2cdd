"""CG403: what the first call does for all later ones is recorded with it."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

COUNTING = """
import torch

class Counting:
    def __init__(self, rows: int):
        self.seen = torch.empty(rows, device="cuda")
        self.ready = False

    def clear(self):
        self.seen.zero_()  # {mark}: CG403

    def run(self, x):
        if not self.ready:
            {work}
            self.ready = {flag}
        {then}
        return x / self.seen

class Runner:
    def __init__(self, rows: int):
        self.counting = Counting(rows)
        self.x = torch.zeros(rows, device="cuda")
        {warm}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.counting.run(self.x)

    def step(self, x):
        {before}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""
ADD, AGAIN = "self.seen += 1", "self.counting.ready = False"


@pytest.mark.parametrize(
    ("work", "flag", "then", "warm", "before", "mark"),
    [
        ("self.clear()", "True", ADD, "pass", "pass", "expect"),
        ("self.clear()", "True", ADD, "self.counting.run(self.x)", "pass", "ok"),
        ("self.clear()", "True", "pass", "pass", "pass", "ok"),
        ("self.clear()", "False", ADD, "pass", "pass", "ok"),
        ("self.clear()", "True", ADD, "pass", AGAIN, "ok"),
        ("pass", "True", f"self.clear(); {ADD}", "pass", "pass", "ok"),
    ],
)
def test_work_of_the_first_call(work: str, flag: str, then: str, warm: str, before: str, mark: str) -> None:
    check(COUNTING.format(work=work, flag=flag, then=then, warm=warm, before=before, mark=mark))
