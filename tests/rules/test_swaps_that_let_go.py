"""CG102: what swaps the memory of weights and lets go of the graph has a new one captured."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """
import torch


class Learner:
    def __init__(self, width: int):
        self.net = torch.nn.Linear(width, width).cuda()
        self.x = torch.zeros(width, width, device="cuda")
        self.graph = None
        self.loads = 0

    def capture(self):
        if self.graph is not None:
            return
        self.net(self.x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.y = self.net(self.x)
        self.graph = graph

    def step(self, x: torch.Tensor):
        self.capture()
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    def forget(self):
        {forget}

    def load(self, state: dict[str, torch.Tensor]):
        self.net.load_state_dict(state, assign=True)  # {mark}: CG102
        {after}
"""


@pytest.mark.parametrize(
    ("forget", "after", "mark"),
    [
        ("self.graph = None", "self.forget()", "ok"),
        ("self.graph = None", "self.graph = None", "ok"),
        ("self.loads = None", "self.forget()", "expect"),
        ("self.loads = None", "self.loads += 1", "expect"),
    ],
)
def test_a_swap_and_the_graph(forget: str, after: str, mark: str) -> None:
    check_marked_rules(PROGRAM.format(forget=forget, after=after, mark=mark))
