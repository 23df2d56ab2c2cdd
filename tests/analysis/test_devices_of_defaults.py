"""A parameter whose default is the CPU, of a program that captures: where its tensors live is not known."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """
import torch


class Learner:
    def __init__(self, width: int{parameter}):
        self.device = torch.device({device})
        self.rows = torch.zeros(width, width, device="cuda")
        self.graph = None

    def body(self):
        return self.rows.to(self.device) * 2  # {mark}: CG303

    def run(self, rows: torch.Tensor):
        self.rows.copy_(rows)
        if self.graph is None:
            self.body()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.body()
        self.graph.replay()
        return self.out.clone()
"""


@pytest.mark.parametrize(
    ("parameter", "device", "mark"),
    [
        (', device: str = "cpu"', "device", "ok"),
        (', device: torch.device = torch.device("cpu")', "device", "ok"),
        ("", '"cpu"', "expect"),
    ],
)
def test_a_default_that_names_the_cpu(parameter: str, device: str, mark: str) -> None:
    check_marked_rules(PROGRAM.format(parameter=parameter, device=device, mark=mark))
