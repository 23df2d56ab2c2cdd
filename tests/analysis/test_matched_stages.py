"""A value that captured code matches, and that the program changes later."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

STAGES = """
from enum import Enum

import torch


class Stage(Enum):
    FIRST = 1
    SECOND = 2


class Loss:
    def __init__(self):
        self.stage = Stage.FIRST

    def __call__(self, x):
        match self.stage:  # {mark}: CG402
            case Stage.FIRST:
                return x.sum()
            case _:
                return x.square().sum()


class Runner:
    def __init__(self):
        self.loss = Loss()
        self.x = torch.zeros(8, device="cuda")
        self.graphs = {{}}

    def run(self, x):
        key = {key}
        if key not in self.graphs:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = self.loss(self.x)
            self.graphs[key] = graph
        self.x.copy_(x)
        self.graphs[key].replay()

    def train(self, batches, boundary):
        for i, x in enumerate(batches):
            if i == boundary:
                self.loss.stage = Stage.SECOND
            self.run(x)
"""


@pytest.mark.parametrize(("key", "mark"), [("0", "expect"), ("self.loss.stage", "ok")])
def test_a_stage_that_is_matched_in_captured_code(key: str, mark: str) -> None:
    check_marked_rules(STAGES.format(key=key, mark=mark))
