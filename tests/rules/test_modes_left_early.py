"""A call that is left early unless a mode is on: what follows is as unsure as under the test itself."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """
import torch


class Step:
    def __init__(self, {name}: bool):
        self.{name} = {name}
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.look(self.x)
        with torch.cuda.graph(self.graph):
            self.look(self.x * 2)

    def look(self, loss):
        if {test}:
            return True
        return bool(torch.isfinite(loss).all())  # {mark}: CG302
"""


@pytest.mark.parametrize(
    ("name", "test", "mark"),
    [
        ("host_checks", "not self.host_checks", "ok"),
        ("host_checks", "self.host_checks", "expect"),
        ("wide", "not self.wide", "expect"),
        ("training", "not self.training", "expect"),
    ],
)
def test_what_follows_an_early_return(name: str, test: str, mark: str) -> None:
    check_marked_rules(PROGRAM.format(name=name, test=test, mark=mark))
