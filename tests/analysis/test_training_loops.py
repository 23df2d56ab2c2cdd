"""What training loops leave to a graph: scalars of the host, arrays over its memory, states, frozen parameters."""

from __future__ import annotations

import pytest

from tests.programs import check_marks


def _trainer(*, loss: str, start: str, step: str) -> str:
    return f"""
import torch
from torch import nn

class Trainer:
    def __init__(self, width: int) -> None:
        self.net = nn.Linear(width, 1).cuda()
        self.x = torch.zeros(8, width, device="cuda")
        self.scale = {start}
        self.graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.body()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.body()

    @torch.no_grad()
    def body(self):
        y = self.net(self.x).square().mean()
        return {loss}

    def step(self, x, progress: float):
        self.x.copy_(x)
        {step}
        self.graph.replay()
        return self.loss.clone()
"""


@pytest.mark.parametrize("use", ["y * self.scale", "torch.mul(y, self.scale)", "y.div(self.scale)"])
def test_a_host_tensor_without_dimensions_is_a_number_of_the_graph(use: str) -> None:
    check_marks(
        _trainer(loss=f"{use}  # expect: CG402", start="torch.tensor(1.0)", step="self.scale.fill_(progress)")
    )


def test_a_device_tensor_without_dimensions_is_read_by_each_replay() -> None:
    start = 'torch.tensor(1.0, device="cuda")'
    check_marks(_trainer(loss="y * self.scale  # ok: CG402", start=start, step="self.scale.fill_(progress)"))


def test_a_host_tensor_that_stays_may_be_a_number_of_the_graph() -> None:
    check_marks(_trainer(loss="y * self.scale  # ok: CG402", start="torch.tensor(1.0)", step="pass"))


def _log(*, wait: str, read: str) -> str:
    return f"""
import numpy as np
import torch
from torch import nn

class Log:
    def __init__(self, net: nn.Linear) -> None:
        self.net = net.cuda()
        self.x = torch.zeros(4, 8, device="cuda")
        self.host = torch.zeros(4, 8, pin_memory=True)
        self.view = self.host.numpy()
        self.graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.run()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.run()

    @torch.no_grad()
    def run(self) -> None:
        self.host.copy_(self.net(self.x), non_blocking=True)

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        {wait}
        return {read}
"""


@pytest.mark.parametrize("read", ["np.abs(self.view).max()", "self.view.copy()", "self.view * 2"])
def test_an_array_over_pinned_memory_is_read_where_it_is_used(read: str) -> None:
    check_marks(_log(wait="pass", read=f"{read}  # expect: CG204"))
    check_marks(_log(wait="torch.cuda.current_stream().synchronize()", read=f"{read}  # ok: CG204"))


def test_a_warp_array_may_be_asked_to_be_pinned() -> None:
    program = """
import warp as wp

@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0

class Doubler:
    def __init__(self, n: int) -> None:
        self.x = wp.ones(n, dtype=float, device="cuda:0")
        self.host = wp.empty(n, dtype=float, device="cpu", pinned=True)
        wp.load_module(device="cuda:0")
        with wp.ScopedCapture(device="cuda:0") as capture:
            wp.launch(double, dim=n, inputs=[self.x])
            wp.copy(self.host, self.x)
        self.graph = capture.graph

    def step(self):
        wp.capture_launch(self.graph)
        {wait}
        return self.host.numpy()  # {mark}: CG204
"""
    check_marks(program.format(wait="pass", mark="expect"))
    check_marks(program.format(wait="wp.synchronize_device('cuda:0')", mark="ok"))


def test_several_carried_states_are_left_behind_as_one_is() -> None:
    program = """
import torch
from torch import nn

class Rollout:
    def __init__(self, width: int) -> None:
        self.cell = nn.LSTMCell(width, width).cuda()
        self.x = torch.zeros(2, width, device="cuda")
        self.state = {{name: torch.zeros(2, width, device="cuda") for name in ("h", "c")}}
        self.graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.advance()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.out = self.advance()

    @torch.no_grad()
    def advance(self):
        h = torch.tanh(self.x + self.state["h"])
        c = torch.sigmoid(self.x + self.state["c"])
        {write}
        return h + c

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.out.clone()
"""
    check_marks(program.format(write='self.state = {"h": h, "c": c}  # expect: CG101'))
    check_marks(program.format(write='self.state["h"].copy_(h); self.state["c"].copy_(c)'))


def _finetuning(*, update: str, again: str) -> str:
    return f"""
import torch
from torch import nn

class Finetuning:
    def __init__(self, width: int) -> None:
        self.body = nn.Linear(width, width).cuda()
        self.head = nn.Linear(width, 1).cuda()
        self.body.requires_grad_(False)
        self.opt = torch.optim.SGD([*self.body.parameters(), *self.head.parameters()], lr=0.1)
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = None

    def update(self) -> None:
        {update}

    def body_step(self) -> None:
        self.opt.zero_grad(set_to_none=True)
        self.head(self.body(self.x)).square().mean().backward()
        self.update()

    def record(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.body_step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.body_step()

    def fit(self, batches) -> None:
        for number, x in enumerate(batches):
            self.x.copy_(x)
            if number == 100:
                self.body.requires_grad_(True)  # {"ok" if again != "pass" else "expect"}: CG406
                {again}
            if self.graph is None:
                self.record()
            self.graph.replay()
"""


@pytest.mark.parametrize(
    "update",
    [
        "self.opt.step()",
        "[p.sub_(p.grad) for p in self.body.parameters() if p.grad is not None]",
    ],
)
def test_an_update_leaves_out_what_was_frozen_when_it_was_captured(update: str) -> None:
    check_marks(_finetuning(update=update, again="pass"))
    check_marks(_finetuning(update=update, again="self.graph = None"))


def test_a_network_that_is_frozen_for_the_graph_of_another_is_let_go_between() -> None:
    check_marks(
        """
import torch
from torch import nn

def train(batches, width: int = 8) -> None:
    maker, judge = nn.Linear(width, width).cuda(), nn.Linear(width, 1).cuda()
    opt = torch.optim.SGD(maker.parameters(), lr=0.1)
    x = torch.zeros(4, width, device="cuda")

    def body():
        opt.zero_grad(set_to_none=True)
        judge(maker(x)).mean().backward()
        opt.step()

    judge.requires_grad_(False)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        body()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    judge.requires_grad_(True)  # ok: CG406
    for batch in batches:
        x.copy_(batch)
        graph.replay()
"""
    )


def test_a_step_that_is_marked_belongs_to_the_compiled_code_that_follows() -> None:
    check_marks(
        """
import torch
from torch import nn

@torch.no_grad()
def collect(env, steps: int):
    actor = torch.compile(nn.Linear(8, 2).cuda(), mode="reduce-overhead")
    obs, seen = env.reset(), []
    for _ in range(steps):
        torch.compiler.cudagraph_mark_step_begin()
        action = actor(obs)
        obs, reward = env.step(action)
        seen.append(obs)  # ok: CG201
    return seen
"""
    )


@pytest.mark.parametrize(
    ("call", "mark"),
    [
        ("wp.utils.array_sum(self.x)", "expect"),
        ("wp.utils.array_inner(self.x, self.y)", "expect"),
        ("wp.utils.array_sum(self.x, self.total)", "ok"),
        ("wp.utils.array_inner(self.x, self.y, out=self.total)", "ok"),
    ],
)
def test_a_sum_of_warp_without_an_array_for_it_is_a_number(call: str, mark: str) -> None:
    check_marks(
        f"""
import warp as wp
import warp.utils

class Sums:
    def __init__(self, n: int) -> None:
        self.x = wp.ones(n, dtype=float, device="cuda")
        self.y = wp.ones(n, dtype=float, device="cuda")
        self.total = wp.zeros(1, dtype=float, device="cuda")
        with wp.ScopedCapture(device="cuda") as capture:
            {call}  # {mark}: CG302
        self.graph = capture.graph
"""
    )


def test_what_warp_makes_in_its_own_capture_is_on_the_device() -> None:
    check_marks(
        """
import warp as wp

class Targets:
    def __init__(self) -> None:
        self.start = wp.array([0.0, 1.0], dtype=float)  # ok: CG306
        self.held = wp.zeros(2, dtype=float)
        with wp.ScopedCapture() as capture:
            self.move()
        self.graph = capture.graph

    def move(self) -> None:
        target = wp.array([1.0, 2.0], dtype=float)  # expect: CG306
        wp.copy(self.held, target)
"""
    )


@pytest.mark.parametrize("norm", ["BatchNorm2d", "SyncBatchNorm"])
@pytest.mark.parametrize(
    ("reset", "mark"),
    [("self.norm.running_var = torch.ones(4).cuda()", "expect"), ("self.norm.running_var.fill_(1)", "ok")],
)
def test_statistics_of_a_batch_norm_are_inputs_of_its_graph(norm: str, reset: str, mark: str) -> None:
    check_marks(
        f"""
import torch
from torch import nn

class Encoder:
    def __init__(self) -> None:
        self.norm = nn.{norm}(4).cuda().eval()
        self.x = torch.zeros(2, 4, 8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.norm(self.x)
            torch.cuda.current_stream().wait_stream(side)
            with torch.cuda.graph(self.graph):
                self.out = self.norm(self.x)

    def reset(self) -> None:
        {reset}  # {mark}: CG101

    def __call__(self, x):
        self.reset()
        self.x.copy_(x)
        self.graph.replay()
        return self.out.clone()
"""
    )
