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


NAMES = """
import torch


class Recorder:
    def __init__(self, first: str):
        self.names = [first]
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.note("warm-up")
        with torch.cuda.graph(self.graph):
            self.look("capture")

    def look(self, name: str):
        {test}  # {mark}: CG402
            {arm}
        self.x.mul_(2)

    def note(self, name: str):
        self.look(name)
        self.names.append(name)

    def step(self, name: str):
        self.graph.replay()
        self.note(name)
"""


@pytest.mark.parametrize(
    ("test", "arm", "mark"),
    [
        ("if any(each == name for each in self.names):", "raise ValueError(name)", "ok"),
        ("if any(each == name for each in self.names):", "self.x.add_(1)", "expect"),
        ("for _ in self.names:", "self.x.add_(1)", "expect"),
    ],
)
def test_a_list_that_only_a_check_goes_through(test: str, arm: str, mark: str) -> None:
    check_marks(NAMES.format(test=test, arm=arm, mark=mark), select=("CG402",))
