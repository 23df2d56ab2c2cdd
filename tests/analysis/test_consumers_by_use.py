"""Functions that are given an object which replays, and name neither its class nor a graph."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

RUNNER = """
    import torch

    class Runner:
        def __init__(self, net: torch.nn.Module):
            self.net = net.cuda()
            self.x = torch.zeros(4, 8, device="cuda")
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.net(self.x)

        def act(self, x):
            self.x.copy_(x)
            self.graph.replay()
            return self.y

    def rebuild(module):
        for p in module.parameters():
            p.data = p.data.clone()  # {mark}: CG102

    def train(worker, loader):
        for x in loader:
            worker.{method}(x)
            rebuild(worker.net)
"""


@pytest.mark.parametrize(
    ("method", "mark"),
    [("act", "expect"), ("learn", "ok"), ("net", "ok"), ("act(x).view", "expect")],
)
def test_what_is_used_as_an_object_that_replays_is_one(method: str, mark: str) -> None:
    check_marked_rules(RUNNER.format(method=method, mark=mark))
