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


BACKWARD = """
import torch
from torch import nn

class Trainer:
    def __init__(self):
        self.net = nn.Linear(8, 8).cuda()
        self.x = torch.zeros(4, 8, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.net(self.x).sum().backward()
        torch.cuda.current_stream().wait_stream(side)
        self.net.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            {captured}

    def watch(self, hook):
        {registered}  # {mark}: CG406

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
"""
FORWARD_ONLY = "self.y = self.net(self.x)"
WITH_BACKWARD = "self.net(self.x).sum().backward()"


@pytest.mark.parametrize(
    ("registered", "captured", "mark"),
    [
        ("self.net.register_full_backward_hook(hook)", WITH_BACKWARD, "expect"),
        ("self.net.register_full_backward_pre_hook(hook)", WITH_BACKWARD, "expect"),
        ("self.net.weight.register_hook(hook)", WITH_BACKWARD, "expect"),
        ("self.net.weight.register_post_accumulate_grad_hook(hook)", WITH_BACKWARD, "expect"),
        ("self.net.register_full_backward_hook(hook)", FORWARD_ONLY, "ok"),
        ("self.net.weight.register_hook(hook)", FORWARD_ONLY, "ok"),
        ("self.net.register_full_backward_hook(hook).remove()", WITH_BACKWARD, "ok"),
        ("nn.Linear(8, 8).register_full_backward_hook(hook)", WITH_BACKWARD, "ok"),
    ],
)
def test_hooks_of_a_captured_backward_pass(registered: str, captured: str, mark: str) -> None:
    check_marked_rules(BACKWARD.format(registered=registered, captured=captured, mark=mark))
