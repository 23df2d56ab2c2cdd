"""What a warm-up computes from inputs and captured code then finds there: replays do not compute it again."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch

class Runner:
    def __init__(self):
        self.slots = torch.zeros(4, dtype=torch.long, device="cuda")
        self.table = torch.zeros(64, device="cuda")
        self.rows = None
        self.graph = torch.cuda.CUDAGraph()

    def look_up(self):
        if self.rows is None:
            self.rows = {made}  # {mark}: CG101
        return self.table[self.rows]

    def capture(self):
        self.look_up()
        {before}
        with torch.cuda.graph(self.graph):
            self.y = self.look_up()

    def __call__(self, slots):
        {fill}
        self.graph.replay()
        return self.y.clone()
"""
DERIVED, COPY = "self.slots * 2 + 1", "self.slots.copy_(slots)"


@pytest.mark.parametrize(
    ("made", "before", "fill", "mark"),
    [
        (DERIVED, "pass", COPY, "expect"),
        (DERIVED, "self.rows = None", COPY, "ok"),
        (DERIVED, "pass", COPY + "; self.rows.copy_(slots * 2 + 1)", "ok"),
        (DERIVED, "pass", "print(slots)", "ok"),
        ("torch.zeros_like(self.slots)", "pass", COPY, "ok"),
        ("torch.arange(4, device='cuda')", "pass", COPY, "ok"),
    ],
)
def test_what_was_computed_in_warm_up_stays(made: str, before: str, fill: str, mark: str) -> None:
    check_marks(PROGRAM.format(made=made, before=before, fill=fill, mark=mark), select=("CG101",))


def test_a_cache_that_is_emptied_on_purpose_is_recorded() -> None:
    check_marks(PROGRAM.format(made=DERIVED, before="self.rows = None", fill=COPY, mark="ok"))
