"""Optimizers, layers and graphed modules whose first run, or whose number, a graph records."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, findings

FIRST_STEP = """\
import torch
from torch import nn


class Step:
    def __init__(self, net: nn.Module, x):
        self.net, self.x = net.cuda(), x
        self.opt = torch.optim.{optimizer}

    def grads(self):
        self.opt.zero_grad(set_to_none=True)
        self.net(self.x).mean().backward()

    def both(self):
        self.grads()
        self.opt.step()


def main(net: nn.Module):
    step = Step(net, torch.zeros(4, 4, device="cuda"))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step.{warm}()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # {mark}
        step.both()
    graph.replay()
"""
ADAM = "Adam(net.parameters(), capturable=True)"
MOMENTUM = "SGD(net.parameters(), lr=0.1, momentum=0.9)"


@pytest.mark.parametrize("optimizer", [ADAM, MOMENTUM])
def test_the_first_step_makes_the_moments(optimizer: str) -> None:
    program = FIRST_STEP.format(optimizer=optimizer, warm="grads", mark="expect: CG701")
    check_marked_rules(program)


@pytest.mark.parametrize(
    ("optimizer", "warm"),
    [(ADAM, "both"), (MOMENTUM, "both"), ("SGD(net.parameters(), lr=0.1)", "grads")],
)
def test_a_step_before_the_capture_or_no_moments(optimizer: str, warm: str) -> None:
    check_marked_rules(FIRST_STEP.format(optimizer=optimizer, warm=warm, mark="ok: CG701"))


ADDED = """\
import torch
from torch import nn


class Tuning:
    def __init__(self, net: nn.Module, more: nn.Module):
        self.net, self.more = net.cuda(), more.cuda()
        self.x = torch.zeros(4, 4, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.graph = None

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        self.net(self.x).mean().backward()
        self.opt.step()

    def run(self):
        if self.graph is None:
            self.step()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.step()
        self.graph.replay()

    def unfreeze(self):
        self.opt.add_param_group({{"params": self.more.parameters()}})  # {mark}
        {then}


def main(net: nn.Module, more: nn.Module, epochs):
    tuning = Tuning(net, more)
    for _ in range(epochs):
        tuning.run()
        tuning.unfreeze()
"""


def test_a_group_that_a_captured_step_does_not_know() -> None:
    check_marked_rules(ADDED.format(mark="expect: CG402", then="pass"))


def test_a_group_before_the_next_capture() -> None:
    check_marked_rules(ADDED.format(mark="ok: CG402", then="self.graph = None"))


NORM = """\
import torch
from torch import nn


def main():
    norm = nn.BatchNorm1d(4, momentum={momentum}).cuda(){mode}
    x = torch.zeros(8, 4, device="cuda")
    norm(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = norm(x)  # {mark}
    return graph, x, y
"""


def test_statistics_over_all_batches_read_their_number() -> None:
    check_marked_rules(NORM.format(momentum=None, mode="", mark="expect: CG302"))


@pytest.mark.parametrize(("momentum", "mode"), [("0.1", ""), ("None", ".eval()")])
def test_statistics_with_momentum_or_without_updates(momentum: str, mode: str) -> None:
    check_marked_rules(NORM.format(momentum=momentum, mode=mode, mark="ok: CG302"))


TWICE = """\
import torch
from torch import nn


class Manager:
    def __init__(self, net: nn.Module):
        self.net, self.eager = net, net.forward
        self.graphed, self.size = None, None

    def __call__(self, x):
        if self.size != x.shape[0]:
            self.graphed = None
            {restore}
        if self.graphed is None:
            self.graphed = torch.cuda.make_graphed_callables(self.net, (torch.zeros_like(x),))  # {mark}
            self.size = x.shape[0]
        return self.graphed(x)


def main(net: nn.Module, loader):
    manager = Manager(net.cuda())
    for x in loader:
        manager(x.cuda()).mean().backward()
"""


def test_a_module_that_is_graphed_again() -> None:
    check_marked_rules(TWICE.format(restore="pass", mark="expect: CG504"))


def test_a_module_whose_forward_was_put_back() -> None:
    check_marked_rules(TWICE.format(restore="self.net.forward = self.eager", mark="ok: CG504"))


WARP = """\
import torch
import warp as wp


@wp.kernel
def scale(a: wp.array(dtype=float), by: float):
    i = wp.tid()
    a[i] = a[i] * by


def main():
    x = torch.ones(8, device="cuda")
    view = wp.from_torch(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1.0)
        {launch}  # {mark}
    graph.replay()
"""
STREAM = "wp.stream_from_torch(torch.cuda.current_stream())"


def test_a_warp_launch_in_a_torch_capture() -> None:
    launch = "wp.launch(scale, dim=8, inputs=[view, 2.0])"
    check_marked_rules(WARP.format(launch=launch, mark="expect: CG501"))


@pytest.mark.parametrize(
    "launch",
    [
        f"wp.launch(scale, dim=8, inputs=[view, 2.0], stream={STREAM})",
        f"with wp.ScopedStream({STREAM}): wp.launch(scale, dim=8, inputs=[view, 2.0])",
    ],
)
def test_a_warp_launch_on_the_capturing_stream(launch: str) -> None:
    check_marked_rules(WARP.format(launch=launch, mark="ok: CG501"))


GRADIENTS = """\
import torch
from torch import nn


def main(net: nn.Module, loader):
    net = net.cuda()
    params = list(net.parameters())
    sample = torch.zeros(4, 4, device="cuda")
    net = torch.cuda.make_graphed_callables(net, (sample,))
    kept = []
    for x in loader:
        loss = net(x.cuda()).mean()
        kept.append(torch.autograd.grad(loss, params)[0]{copy})
    return torch.stack(kept).mean().item()
"""


def _reported(copy: str) -> bool:
    found = findings(GRADIENTS.format(copy=copy))
    return any(each.code == "CG201" for each in found)


def test_gradients_of_a_graphed_module_share_their_buffers() -> None:
    assert _reported("")


def test_copies_of_such_gradients_are_kept() -> None:
    assert not _reported(".clone()")


COUNTING = """\
import torch
from apex.optimizers import FusedAdam
from torch import nn


def main(net: nn.Module):
    opt = FusedAdam(net.parameters(), lr=1e-3{option})
    x = torch.zeros(4, 4, device="cuda")

    def step():
        opt.zero_grad(set_to_none=True)
        net(x).mean().backward()
        opt.step()  # {mark}

    for _ in range(3):
        step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    graph.replay()
"""


def test_an_optimizer_of_another_library_that_counts_in_python() -> None:
    check_marked_rules(COUNTING.format(option="", mark="expect: CG804"))


def test_an_optimizer_of_another_library_that_does_not() -> None:
    check_marked_rules(COUNTING.format(option=", capturable=True", mark="ok: CG804"))


SAMPLE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.middle = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def forward(self, ids):
        return self.middle({given}).mean()


def main(loader):
    net = Net().cuda()
    sample = {sample}
    net.middle = torch.cuda.make_graphed_callables(net.middle, (sample,))  # {mark}
    for ids in loader:
        net(ids.cuda()).backward()
"""
PLAIN = 'torch.zeros(8, 4, device="cuda")'


def test_a_sample_that_wants_no_gradient_where_the_arguments_do() -> None:
    check_marked_rules(SAMPLE.format(given="self.embed(ids) * 2", sample=PLAIN, mark="expect: CG807"))


@pytest.mark.parametrize(
    ("given", "sample"),
    [
        ("self.embed(ids)", 'torch.zeros(8, 4, device="cuda", requires_grad=True)'),
        ("self.embed(ids)", f"{PLAIN}.requires_grad_()"),
        ("self.embed(ids).detach()", PLAIN),
        ("nn.functional.one_hot(ids, 4).float()", PLAIN),
    ],
)
def test_a_sample_like_the_arguments(given: str, sample: str) -> None:
    check_marked_rules(SAMPLE.format(given=given, sample=sample, mark="ok: CG807"))
