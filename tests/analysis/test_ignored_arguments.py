"""An argument that a call does not look at when it replays what an earlier call has captured."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch

class Wrapper:
    def __init__(self):
        self.graph = None

    def __call__(self, x: torch.Tensor, scale: torch.Tensor):
        if self.graph is None:
            {own}
            x * scale
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = x * scale
            self.x, self.scale = x, scale
        {copy}
        self.graph.replay()  # {mark}: CG101
        return self.y.clone()
"""
OWN = "x, scale = x.clone(), scale.clone()"


@pytest.mark.parametrize(
    ("own", "copy", "mark"),
    [
        ("pass", "pass", "expect"),
        (OWN, "pass", "expect"),
        (OWN, "self.x.copy_(x)", "expect"),
        (OWN, "self.x.copy_(x), self.scale.copy_(scale)", "ok"),
        (OWN, "for held, new in ((self.x, x), (self.scale, scale)): held.copy_(new)", "ok"),
        (OWN, "self.x[:], self.scale[:] = x, scale", "ok"),
        (
            "pass",
            "assert (x.data_ptr(), scale.data_ptr()) == (self.x.data_ptr(), self.scale.data_ptr())",
            "ok",
        ),
    ],
)
def test_every_argument_is_copied_or_looked_at(own: str, copy: str, mark: str) -> None:
    check_marks(PROGRAM.format(own=own, copy=copy, mark=mark), select=("CG101",))


def test_the_caller_may_bring_the_same_memory_again() -> None:
    check_marks(
        """
        import torch

        def make(fn):
            state = {}

            def run(x):
                if not state:
                    fn(x)
                    graph = state["graph"] = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        state["y"] = fn(x)
                state["graph"].replay()
                return state["y"].clone()

            return run

        def main(inputs):
            static = torch.zeros(4, device="cuda")
            run = make(lambda x: x * 2)
            for each in inputs:
                static.copy_(each)
                run(static)
        """,
        select=("CG101",),
    )


BATCHES = """
import torch


class Module:
    def __init__(self, net: torch.nn.Module):
        self.net = net.cuda()
        self.graph = None

    def step(self, batch):
        if self.graph is None:
            self.own = {own}
            self.net(self.own[0])
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.net(self.own[0]) + self.own[1]
        {copy}
        self.graph.replay()  # {mark}: CG101
        return self.y.clone()


def train(net, loader):
    module = Module(net)
    for x, y in loader:
        module.step(({moved}))
"""
REFILLED = "for held, new in zip(self.own, batch): held.copy_(new)"


@pytest.mark.parametrize(
    ("own", "copy", "mark"),
    [
        ("batch", "pass", "expect"),
        ("[each.clone() for each in batch]", "pass", "expect"),
        ("[each.clone() for each in batch]", REFILLED, "ok"),
    ],
)
@pytest.mark.parametrize("moved", ["x.cuda(), y.cuda()", "x.to('cuda'), y.to('cuda')"])
def test_the_parts_of_a_batch(own: str, copy: str, mark: str, moved: str) -> None:
    check_marks(BATCHES.format(own=own, copy=copy, mark=mark, moved=moved), select=("CG101",))
