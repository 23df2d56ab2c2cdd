"""CG403, CG102, CG402 and CG702: schedules, host tensors, optimizer state, tables, and warm backward functions."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

SCHEDULE = """\
import torch
from torch import nn


def main(net: nn.Module, loader):
    net = net.cuda()
    x = torch.zeros(4, 4, device="cuda")
    rate = torch.tensor(0.1, device="cuda")
    opt = torch.optim.Adam(net.parameters(), lr=rate, capturable=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)

    def step():
        opt.zero_grad(set_to_none=True)
        net(x).mean().backward()
        opt.step()
        {inside}

    for _ in range(3):
        step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for batch in loader:
        x.copy_(batch)
        graph.replay()
        {outside}
"""


def test_a_schedule_in_captured_code() -> None:
    check_marked_rules(SCHEDULE.format(inside="schedule.step()  # expect: CG403", outside="pass"))


def test_a_schedule_between_replays() -> None:
    check_marked_rules(SCHEDULE.format(inside="pass", outside="schedule.step()  # ok: CG403"))


HOST_TENSOR = """\
import torch


class Decay:
    def __init__(self):
        self.power = torch.ones((){device})
        self.x = torch.ones(4, device="cuda")

    def body(self):
        {advance}
        self.x.mul_(0.5)
        return self.x * (1.0 - self.power)


def main(rounds):
    decay = Decay()
    decay.body()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = decay.body()
    for _ in range(rounds):
        graph.replay()
    return y
"""


@pytest.mark.parametrize("advance", ["self.power.mul_(0.9)", "self.power *= 0.9"])
def test_a_host_tensor_that_captured_code_moves_on(advance: str) -> None:
    check_marked_rules(HOST_TENSOR.format(device="", advance=f"{advance}  # expect: CG403"))


@pytest.mark.parametrize(
    ("device", "advance"),
    [(', device="cuda"', "self.power.mul_(0.9)"), ("", "self.power.fill_(0.9)"), ("", "pass")],
)
def test_a_device_tensor_or_one_that_stands_still(device: str, advance: str) -> None:
    check_marked_rules(HOST_TENSOR.format(device=device, advance=f"{advance}  # ok: CG403"))


STATE = """\
import torch
from torch import nn


def main(net: nn.Module, loader):
    net = net.cuda()
    x = torch.zeros(4, 4, device="cuda")
    opt = torch.optim.Adam(net.parameters(), capturable=True)

    def step():
        opt.zero_grad(set_to_none=True)
        net(x).mean().backward()
        opt.step()

    for _ in range(3):
        step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    {restart}
    for batch in loader:
        x.copy_(batch)
        graph.replay()
"""


def test_state_that_is_dropped_after_the_capture() -> None:
    check_marked_rules(STATE.format(restart="opt.state.clear()  # expect: CG102"))


def test_state_that_is_zeroed_in_place() -> None:
    restart = "[v.zero_() for s in opt.state.values() for v in s.values()]  # ok: CG102"
    check_marked_rules(STATE.format(restart=restart))


TABLE = """\
import numpy as np
import torch


class Levels:
    def __init__(self):
        self.table = np.linspace(0.0, 1.0, 10)
        self.at = 0
        self.x = torch.zeros(4, device="cuda")

    def body(self):
        return self.x + float(self.table[{index}])  # {mark}


def main(rounds):
    levels = Levels()
    levels.body()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = levels.body()
    for index in range(rounds):
        levels.at = index % 10
        graph.replay()
    return y
"""


def test_an_entry_of_a_table_that_the_loop_chooses() -> None:
    check_marked_rules(TABLE.format(index="self.at", mark="expect: CG402"))


def test_one_entry_of_a_table() -> None:
    check_marked_rules(TABLE.format(index="3", mark="ok: CG402"))


TUNED = """\
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({{"B": 64}}), triton.Config({{"B": 128}})], key=["n"])
@triton.jit
def double(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad)
        double[(4,)](grad, out, grad.numel())  # {mark}
        return out


def main():
    x = torch.zeros(256, device="cuda", requires_grad=True)
    y = Same.apply(x)
    {warm}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        Same.apply(x).sum().backward()
    graph.replay()
"""


def test_a_backward_that_first_runs_in_the_capture() -> None:
    check_marked_rules(TUNED.format(warm="y.sum()", mark="expect: CG702"))


def test_a_backward_that_the_warm_up_has_run() -> None:
    check_marked_rules(TUNED.format(warm="y.sum().backward()", mark="ok: CG702"))
