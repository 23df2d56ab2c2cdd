"""Tests that hang together: where a value is None because of a test, that test is known there."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """
import torch


class Config:
    def __init__(self, ranks: int, wide: bool):
        self.ranks = ranks
        self.wide = wide


class Step:
    def __init__(self, net, config: Config):
        self.net = net
        self.config = config
        self.count = 1
        self.x = torch.zeros(4, device="cuda")
        counts = {made}
        self.run(counts)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.run(counts)

    def run(self, counts):
        y = self.net(self.x)
        if {test}:
            y = y * self.count  # {mark}: CG402
        return y

    def __call__(self, x, count: int):
        self.count = count
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""

MANY = "self.config.ranks > 1"
COUNTS = "torch.ones(4, device='cuda')"


@pytest.mark.parametrize(
    ("made", "test", "mark"),
    [
        (f"{COUNTS} if {MANY} else None", f"counts is None and {MANY}", "ok"),
        (f"{COUNTS} if {MANY} else None", f"{MANY} and counts is None", "ok"),
        (f"{COUNTS} if {MANY} else None", "counts is None and self.config.wide", "expect"),
        (f"{COUNTS} if {MANY} else None", f"counts is not None and {MANY}", "expect"),
        (f"None if {MANY} else {COUNTS}", f"counts is not None and {MANY}", "ok"),
        (f"None if {MANY} else {COUNTS}", f"counts is None and {MANY}", "expect"),
    ],
)
def test_a_value_that_is_none_because_of_a_test(made: str, test: str, mark: str) -> None:
    check_marked_rules(PROGRAM.format(made=made, test=test, mark=mark))
