"""Rows and index entries that an older batch has left behind the real ones."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

EDGES = """
import torch


class Messages:
    def __init__(self, nodes, edges, d):
        self.h = torch.zeros(nodes, d, device="cuda")
        self.edges = torch.zeros(2, edges, dtype=torch.int64, device="cuda")
        self.weight = torch.ones(edges, 1, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            source, target = self.edges
            message = self.h[source]{masked}
            self.out = torch.zeros_like(self.h).index_add_(0, target, message)

    def run(self, h, edges, weight):
        n = edges.shape[1]
        self.h.copy_(h)
        self.weight.copy_(weight)
        {fill}  # {mark}: CG109
        self.graph.replay()
        return self.out.clone()
"""


@pytest.mark.parametrize(
    ("fill", "masked", "mark"),
    [
        ("self.edges[:, :n].copy_(edges)", "", "expect"),
        ("self.edges[:, :n] = edges", "", "expect"),
        ("self.edges[:, :n].copy_(edges); self.edges[:, n:].zero_()", "", "ok"),
        ("self.edges.copy_(edges)", "", "ok"),
        ("self.edges[:, :n].copy_(edges)", " * self.weight", "ok"),
        ("self.h[:n].copy_(h[:n])", "", "ok"),
    ],
)
def test_entries_of_an_index_by_which_is_added_up(fill: str, masked: str, mark: str) -> None:
    check_marked_rules(EDGES.format(fill=fill, masked=masked, mark=mark))
