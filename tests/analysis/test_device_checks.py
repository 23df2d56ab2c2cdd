"""A tensor that has passed a check of its device is where the check says."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch


class Lengths:
    def __init__(self, made):
        self.made = made

    def total(self, lengths: torch.Tensor):
        if {test}:
            {leave}
        return lengths.sum().item()  # {mark}: CG302


def step(parts: Lengths, lengths: torch.Tensor, x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.mul_(parts.total(lengths))
    graph.replay()
"""


@pytest.mark.parametrize(
    "test",
    [
        'lengths.device.type != "cpu"',
        'not lengths.device.type == "cpu"',
        'lengths.dim() != 1 or lengths.device.type != "cpu"',
        'lengths.device != "cpu"',
    ],
)
def test_a_check_that_raises_leaves_a_tensor_on_the_cpu(test: str) -> None:
    check_marks(PROGRAM.format(test=test, leave="raise ValueError(test)", mark="ok"))


@pytest.mark.parametrize(
    ("test", "leave"),
    [
        ('lengths.device.type == "cpu"', "raise ValueError(test)"),
        ('lengths.dim() != 1 and lengths.device.type != "cpu"', "raise ValueError(test)"),
        ('lengths.device.type != "cpu"', "print(test)"),
        ('lengths.device.type != "meta"', "raise ValueError(test)"),
    ],
)
def test_other_checks_say_nothing(test: str, leave: str) -> None:
    check_marks(PROGRAM.format(test=test, leave=leave, mark="expect"))
