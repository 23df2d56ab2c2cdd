"""CG802: gradients that a replay fills, and that eager code binds to tensors computed from them."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

STEP = """
import torch


class Trainer:
    def __init__(self, net: torch.nn.Module, n):
        self.net, self.n = net.cuda(), n
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(8, 8, device="cuda")
        self.run()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.run()
        self.held = [p.grad for p in self.net.parameters()]

    def run(self):
        self.opt.zero_grad(set_to_none=True)
        self.net(self.x).sum().backward()

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        for p, own in zip(self.net.parameters(), self.held):
            {change}  # {mark}: CG802
        self.opt.step()
"""


@pytest.mark.parametrize(
    ("change", "mark"),
    [
        ("p.grad = p.grad / self.n", "expect"),
        ("p.grad = torch.clamp(p.grad, -1.0, 1.0)", "expect"),
        ("p.grad.div_(self.n)", "ok"),
        ("p.grad = own / self.n", "ok"),
    ],
)
def test_a_gradient_computed_from_the_gradient(change: str, mark: str) -> None:
    check_marked_rules(STEP.format(change=change, mark=mark))


SCRIPT = """
import argparse
import sys
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--graphed", action="store_true")
args = parser.parse_args()
net = torch.nn.Linear(8, 8).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.zeros(4, 8, device="cuda")


def passes():
    net(x).sum().backward()


graph = None
graphed = "--graph" in sys.argv
passes()
opt.zero_grad(set_to_none=True)
if {captures}:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        passes()
for _ in range(9):
    x.normal_()
    if {eager}:
        opt.zero_grad(set_to_none=True)  # {mark}: CG802
        passes()
    {otherwise}:
        graph.replay()
    opt.step()
"""


@pytest.mark.parametrize(
    ("captures", "eager", "otherwise", "mark"),
    [
        ("graphed", "not graphed", "else", "ok"),
        ("args.graphed", "not args.graphed", "else", "ok"),
        ("args.graphed", "not args.graphed", "if args.graphed", "ok"),
        ("len(sys.argv) > 1", "graph is None", "else", "ok"),
        ("len(sys.argv) > 1", "not graph", "else", "ok"),
        ("graphed", "args.graphed", "if graphed", "expect"),
        ("len(sys.argv) > 1", "graph is not None", "if graph is not None", "expect"),
        ("True", "x.sum() > 2", "else", "expect"),
    ],
)
def test_an_arm_that_excludes_the_graph_may_drop_gradients(
    captures: str, eager: str, otherwise: str, mark: str
) -> None:
    check_marked_rules(SCRIPT.format(captures=captures, eager=eager, otherwise=otherwise, mark=mark))


OBJECT = """
import torch


class Loop:
    def __init__(self, net: torch.nn.Module, use_graph: bool):
        self.net, self.use_graph, self.graph = net.cuda(), use_graph, None
        self.x = torch.zeros(4, 8, device="cuda")
        if self.use_graph:
            self.passes()
            self.drop()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.passes()

    def passes(self):
        self.net(self.x).sum().backward()

    def drop(self):
        for p in self.net.parameters():
            p.grad = None  # {mark}: CG802

    def step(self, x):
        self.x.copy_(x)
        if {eager}:
            self.drop()
            self.passes()
        if self.use_graph:
            self.graph.replay()


def train(net, batches, use_graph: bool):
    loop = Loop(net, use_graph)
    for x in batches:
        loop.step(x)
"""


@pytest.mark.parametrize(("eager", "mark"), [("not self.use_graph", "ok"), ("x.shape[0] == 1", "expect")])
def test_the_arm_is_in_a_method(eager: str, mark: str) -> None:
    check_marked_rules(OBJECT.format(eager=eager, mark=mark))
