"""CG103: a module that only the call that captured has named is gone, and the graph reads its weights."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

RUNNER = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


class Runner:
    def __init__(self, net):
        {keep}
        self.x = torch.zeros(4, 8, device="cuda")
        with {mode}:
            net(self.x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = net(self.x)

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


def main(batches, log):
    {made}  # {mark}
    return [runner(batch) for batch in batches]
"""

MADE = "runner = Runner(Net().cuda().eval())"


@pytest.mark.parametrize("mode", ["torch.no_grad()", "torch.inference_mode()"])
def test_nobody_keeps_the_module(mode: str) -> None:
    check_marked_rules(RUNNER.format(keep="pass", mode=mode, made=MADE, mark="expect: CG103"))


@pytest.mark.parametrize(
    ("keep", "mode", "made"),
    [
        ("self.net = net", "torch.no_grad()", MADE),
        ("self.run = net.forward", "torch.no_grad()", MADE),
        ("self.parts = {'net': [net]}", "torch.no_grad()", MADE),
        ("self.again = lambda x: net(x)", "torch.no_grad()", MADE),
        ("pass", "torch.enable_grad()", MADE),  # autograd holds the weights of what it has recorded
        ("pass", "torch.no_grad()", "net = Net().cuda(); runner = Runner(net)"),
        ("pass", "torch.no_grad()", "net = Net().cuda(); log.watch(net); runner = Runner(net); del net"),
        ("pass", "torch.no_grad()", "runner = Runner(log)"),
    ],
)
def test_somebody_holds_it(keep: str, mode: str, made: str) -> None:
    check_marked_rules(RUNNER.format(keep=keep, mode=mode, made=made, mark="ok: CG103"))


BUILD = """\
import torch
from torch import nn


def build(size):
    net = nn.Sequential(nn.Linear(size, size), nn.Tanh()).cuda()  # {mark}
    x = torch.zeros(1, size, device="cuda")
    with torch.no_grad():
        net(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = net(x)

    def step(value):
        x.copy_(value)
        graph.replay()
        return {result}

    return step


def main(values):
    step = build(16)
    return [step(value).sum().item() for value in values]
"""


def test_a_closure_that_names_the_module_holds_it() -> None:
    check_marked_rules(BUILD.format(result="y", mark="expect: CG103"))
    check_marked_rules(BUILD.format(result="y if net.training else y.clone()", mark="ok: CG103"))


GLOBAL = """\
import torch
from torch import nn

NET = nn.Linear(8, 8).cuda()
X = torch.zeros(2, 8, device="cuda")


def capture():
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = NET(X)  # ok: CG103
    return graph, y


def main(values):
    graph, y = capture()
    for value in values:
        X.copy_(value)
        graph.replay()
        print(y.sum())
"""


def test_a_module_of_the_file_stays() -> None:
    check_marked_rules(GLOBAL)


def test_what_a_function_is_given_or_returns_with_the_step_is_held() -> None:
    kept = BUILD.replace("    return step\n", "    step.net = net\n    return step\n")
    check_marked_rules(kept.format(result="y", mark="ok: CG103"))
    returned = BUILD.replace("    return step\n", "    return step, net\n").replace("step = b", "step, _ = b")
    check_marked_rules(returned.format(result="y", mark="ok: CG103"))
    alone = returned[: returned.index("def main")]
    check_marked_rules(alone.format(result="y", mark="ok: CG103"))
