"""Lists that captured code goes through, and names by which it looks tensors up: the graph keeps what they were."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch

class Pipeline:
    def __init__(self):
        self.stages = [lambda x: x + 1]
        self.tables = {{"a": torch.zeros(4, device="cuda"), "b": torch.ones(4, device="cuda")}}
        self.chosen = "a"
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        x = self.x * self.tables[self.chosen]  # {table}: CG402
        for stage in self.stages:  # {stage}: CG402
            x = stage(x)
        return x

    def capture(self):
        self.run()
        with torch.cuda.graph(self.graph):
            self.y = self.run()

    def change(self, stage, name: str):
        {change}

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("change", "table", "stage"),
    [
        ("self.stages.append(stage)", "ok", "expect"),
        ("self.stages.append(stage), self.capture()", "ok", "ok"),
        ("print(len(self.stages))", "ok", "ok"),
        ("self.chosen = name", "expect", "ok"),
        ("self.tables['a'].copy_(self.tables[name])", "ok", "ok"),
    ],
)
def test_what_is_added_or_chosen_later_is_not_in_the_graph(change: str, table: str, stage: str) -> None:
    check_marks(PROGRAM.format(change=change, table=table, stage=stage), select=("CG402",))
