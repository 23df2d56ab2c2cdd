"""Host numbers that captured code reads through objects and tests, and that later calls change."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

RECORD = """\
from dataclasses import dataclass
import torch

@dataclass
class Params:
    scale: float = 1.0
    limit: int = 8

class Runner:
    def __init__(self):
        self.params = Params()
        self.x = torch.zeros(8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = self.x * {use}  # {mark}

    {change}

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "change",
    [
        "def use(self, params: Params):\n        self.params = params",
        "def use(self, scale: float):\n        self.params = Params(scale)",
        "def use(self, scale: float):\n        self.params = Params(scale=scale, limit=4)",
        "def use(self):\n        self.params = Params(0.5)",
    ],
)
def test_a_record_with_other_numbers_takes_the_place_of_the_captured_one(change: str) -> None:
    check_marks(RECORD.format(use="self.params.scale", change=change, mark="expect: CG402"))


@pytest.mark.parametrize(
    "change",
    [
        "def use(self, limit: int):\n        self.params = Params(limit=limit)",
        "def use(self):\n        self.params = Params(1.0, 2)",
        "def use(self, params: Params):\n        self.last = params",
    ],
)
def test_a_record_with_the_same_number_is_as_good(change: str) -> None:
    check_marks(RECORD.format(use="self.params.scale", change=change, mark="ok: CG402"))


BRANCH = """\
import torch

class Runner:
    def __init__(self):
        self.longest = 1
        self.recording = 0
        self.x = torch.zeros(8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        self.recording = 1
        with torch.cuda.graph(self.graph):
            if {test}:  # {mark}
                self.y = self.x * 2
            else:
                self.y = self.x * 3
        self.recording = 0

    def step(self, x, lengths: list[int]):
        self.longest = max(lengths)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize("test", ["self.longest > 1024", "8 <= self.longest", "self.longest == 1"])
def test_a_branch_on_a_number_that_each_call_brings(test: str) -> None:
    check_marks(BRANCH.format(test=test, mark="expect: CG402"))


@pytest.mark.parametrize("test", ["self.recording == 1", "self.recording", "self.x.shape[0] > 4"])
def test_a_branch_on_what_the_program_sets_around_its_capture(test: str) -> None:
    check_marks(BRANCH.format(test=test, mark="ok: CG402"))


def test_a_class_that_replays_through_another_object_is_stepped_twice() -> None:
    check_marks(
        """
        import torch

        class Graphed:
            def __init__(self, net: torch.nn.Module):
                self.x = torch.zeros(8, device="cuda")
                net(self.x)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = net(self.x)

            def __call__(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return self.y

        class Smoother:
            def __init__(self, net: torch.nn.Module):
                self.graphed = Graphed(net)
                self.last = None

            def step(self, x):
                new = self.graphed(x)
                mixed = new if self.last is None else new + self.last
                self.last = new  # expect: CG201
                return mixed.sum().item()
        """
    )
