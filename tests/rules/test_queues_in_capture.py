"""CG403: lists that captured code adds to and takes from."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """\
from collections import deque

import torch


class Line:
    def __init__(self):
        self.waiting = deque(torch.zeros(4, device="cuda") for _ in range(2))

    def push(self, x):
        {push}

    def body(self, x):
        return x + self.push(x)


def main(loader):
    line = Line()
    x = torch.zeros(4, device="cuda")
    line.body(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = line.body(x)
    for batch in loader:
        x.copy_(batch)
        graph.replay()
        print(y.sum().item())
"""


@pytest.mark.parametrize(
    "push",
    [
        "self.waiting.append(x.clone()); return self.waiting.popleft()  # expect: CG403",
        "self.waiting.append(x.clone()); return torch.stack(list(self.waiting)).sum(0)  # expect: CG403",
        "old = self.waiting.popleft(); self.waiting.append(x.clone()); return old  # expect: CG403",
    ],
)
def test_older_entries_are_used_and_new_ones_added(push: str) -> None:
    check_marked_rules(PROGRAM.format(push=push))


@pytest.mark.parametrize(
    "push",
    [
        "self.waiting.clear(); self.waiting.append(x * 2); return self.waiting[0]  # ok: CG403",
        "return torch.stack(list(self.waiting)).sum(0)  # ok: CG403",
        "parts = []; parts.append(x); return torch.stack(parts).sum(0)  # ok: CG403",
    ],
)
def test_nothing_older_is_used_or_nothing_added(push: str) -> None:
    check_marked_rules(PROGRAM.format(push=push))
