"""CG406: what captured code went through is changed after the capture."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.body(x))


class Run:
    def __init__(self):
        self.net = Net().cuda()
        self.x = torch.zeros(4, 4, device="cuda")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.seen = []
        self.graph = None

    def body(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).mean()
        loss.backward()
        self.opt.step()

    def step(self):
        if self.graph is None:
            self.body()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.body()
        self.graph.replay()

    def change(self, epoch):
        {change}


def main(epochs):
    run = Run()
    for epoch in range(epochs):
        run.step()
        run.change(epoch)
"""
OFF = "self.net.body.weight.requires_grad = False"


@pytest.mark.parametrize(
    "change",
    [
        "self.net.body.register_forward_hook(lambda m, a, y: self.seen.append(y))",
        "self.net.register_forward_pre_hook(lambda m, a: self.seen.append(a))",
        "self.net.body.requires_grad_(False)",
        OFF,
        f"if epoch == 3: {OFF}",
    ],
)
def test_a_change_that_replays_do_not_see(change: str) -> None:
    check_marked_rules(PROGRAM.format(change=f"{change}  # expect: CG406"))


@pytest.mark.parametrize(
    "change",
    [
        "self.net.body.register_forward_hook(lambda m, a, y: None).remove()",
        "nn.Linear(4, 4).register_forward_hook(lambda m, a, y: None)",
        "self.net.body.requires_grad_(True)",
        f"{OFF}; self.graph = None",
        f"if epoch == 3: {OFF}; self.graph = None",
        "self.x.requires_grad_(False)",
    ],
)
def test_a_change_that_is_taken_back_seen_or_of_something_else(change: str) -> None:
    check_marked_rules(PROGRAM.format(change=f"{change}  # ok: CG406"))


CALLED = """\
import torch


def double(x):
    return x * 2


def square(x):
    return x * x


class Runner:
    def __init__(self, fn):
        self.fn = fn
        self.x = torch.zeros(4, device="cuda")
        self.graph = None

    def compute(self):
        return self.fn(self.x)

    def capture(self):
        {around}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.compute()
        {after}

    def replay_only(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


def main(loader):
    runner = Runner(double)
    runner.capture()
    {later}
    for x in loader:
        runner.x.copy_(x)
        runner.graph.replay()
"""


def test_another_callable_in_the_place_of_the_captured_one() -> None:
    program = CALLED.format(around="pass", after="pass", later="runner.fn = square  # expect: CG406")
    check_marked_rules(program)


@pytest.mark.parametrize(
    ("around", "after", "later"),
    [
        ("pass", "pass", "runner.fn = double  # ok: CG406"),
        ("pass", "pass", "runner.fn = runner.replay_only  # ok: CG406"),
        ("kept, self.fn = self.fn, square", "self.fn = kept  # ok: CG406", "pass"),
    ],
)
def test_the_same_callable_or_one_that_belongs_to_the_graph(around: str, after: str, later: str) -> None:
    check_marked_rules(CALLED.format(around=around, after=after, later=later))
