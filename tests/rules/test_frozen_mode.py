"""CG402: a graph replayed in another mode than the one it was captured in."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.programs import check_marks

LIBRARY = "nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))"
OWN = "Own()"
PROGRAM = """
import torch
from torch import nn


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return nn.functional.dropout(self.fc(x), 0.1, self.training)


class Graphed:
    def __init__(self, net):
        self.net = net
        self.x = torch.zeros(2, 4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


def evaluate(graphed, loader):
    graphed.net.eval()
    for x in loader:
        graphed.net(x)


def main(x, loader):
    net = {net}.cuda()
    graphed = Graphed(net)
    graphed.run(x)
"""


def check(body: str, net: str) -> None:
    check_marks(PROGRAM.format(net=net) + indent(dedent(body), "    "))


@pytest.mark.parametrize("net", [LIBRARY, OWN])
def test_replayed_after_the_switch(net: str) -> None:
    check("net.eval()  # expect: CG402\ngraphed.run(x)\n", net)


@pytest.mark.parametrize("net", [LIBRARY, OWN])
def test_switched_back(net: str) -> None:
    check("net.eval()\nnet(x)\nnet.train()\ngraphed.run(x)\n", net)


@pytest.mark.parametrize("net", [LIBRARY, OWN])
def test_training_goes_on_after_an_eager_evaluation(net: str) -> None:
    check("evaluate(graphed, loader)\ngraphed.run(x)\n", net)


def test_a_module_without_modes() -> None:
    check("net.eval()\ngraphed.run(x)\n", "nn.Linear(4, 4)")
