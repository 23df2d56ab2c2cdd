"""Answers that programs keep: context variables, thread locals, counters, environment and version tests."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

STATE = {
    "context variable": (
        "import contextvars\nFLAG = contextvars.ContextVar('flag', default=False)",
        "FLAG.set(True)",
        "FLAG.set(False)",
        "FLAG.get()",
    ),
    "thread local": (
        "import threading\nLOCAL = threading.local()\nLOCAL.flag = False",
        "LOCAL.flag = True",
        "LOCAL.flag = False",
        "LOCAL.flag",
    ),
    "dict": ("STATE = {'flag': False}", "STATE['flag'] = True", "STATE['flag'] = False", "STATE['flag']"),
    "dict get": ("STATE = {}", "STATE['flag'] = True", "STATE.pop('flag')", "STATE.get('flag', False)"),
    "list": ("STACK = []", "STACK.append(1)", "STACK.pop()", "len(STACK) > 0"),
    "counter": (
        "class Depth:\n    value = 0",
        "Depth.value += 1",
        "Depth.value -= 1",
        "Depth.value > 0",
    ),
    "enum": (
        "import enum\n\n\nclass Mode(enum.Enum):\n    EAGER = 0\n    GRAPH = 1\n\n\n"
        "class Current:\n    mode = Mode.EAGER",
        "Current.mode = Mode.GRAPH",
        "Current.mode = Mode.EAGER",
        "Current.mode == Mode.GRAPH",
    ),
    "setter": (
        "_flag = False\n\n\ndef set_flag(value):\n    global _flag\n    _flag = value\n\n\n"
        "def get_flag():\n    return _flag",
        "set_flag(True)",
        "set_flag(False)",
        "get_flag()",
    ),
    "namespace": (
        "import types\nSTATE = types.SimpleNamespace(flag=False)",
        "STATE.flag = True",
        "STATE.flag = False",
        "STATE.flag",
    ),
}


@pytest.mark.parametrize(("made", "on", "off", "asked"), STATE.values(), ids=STATE)
def test_state_set_around_the_region(made: str, on: str, off: str, asked: str) -> None:
    check_marked_rules(
        f"""
import torch
{made}


def work(x):
    if {asked}:
        x.sum().item()  # expect: CG302
    else:
        x.max().item()  # ok: CG302


def record(g):
    x = torch.zeros(4, device="cuda")
    work(x)
    {on}
    with torch.cuda.graph(g):
        work(x)
    {off}
    work(x)
"""
    )


def test_a_capture_that_falls_back_to_eager() -> None:
    check_marked_rules(
        """
import torch


class Runner:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = torch.zeros(4, device="cuda")
        self.graph = None
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = self.net(self.x)
            self.graph = graph
        except RuntimeError:
            self.graph = None

    def run(self, x: torch.Tensor):
        if self.graph is None:
            out = self.net(x)
            return out if out.sum().item() > 0 else -out  # ok: CG302, CG401
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_a_class_that_is_captured_in_one_mode_only() -> None:
    check_marked_rules(
        """
import torch


class Attention(torch.nn.Module):
    def forward(self, x, meta):
        if meta.is_decode:
            return self.decode(x)
        return self.prefill(x)

    def decode(self, x):
        return x * x.max().item()  # expect: CG302

    def prefill(self, x):
        return x * x.min().item()  # ok: CG302


class Meta:
    def __init__(self, is_decode: bool):
        self.is_decode = is_decode


def record(g):
    layer = Attention()
    x = torch.zeros(4, device="cuda")
    layer(x, Meta(is_decode=False))
    with torch.cuda.graph(g):
        layer(x, Meta(is_decode=True))
"""
    )


def test_a_server_loop() -> None:
    check_marked_rules(
        """
import queue

import torch


def serve(net: torch.nn.Module, requests: queue.Queue):
    x = torch.zeros(4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = net(x)
    while True:
        request = requests.get()
        if request is None:
            break
        x.copy_(request)  # ok: CG101
        g.replay()
        request.reply(y.sum().item())  # ok: CG302
        if y.max().item() > 1:  # ok: CG302
            continue
        x = x * 2  # expect: CG101
"""
    )


RENEWED = {
    "reset and capture": "self.graph.reset()\n        self.capture()",
    "new graph": "self.graph = torch.cuda.CUDAGraph()\n        self.capture()",
    "flag": "self.dirty = True",
    "deleted": "self.graph = None",
}


@pytest.mark.parametrize("renew", RENEWED.values(), ids=RENEWED)
def test_ways_to_have_a_graph_captured_again(renew: str) -> None:
    check_marked_rules(
        f"""
import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.dirty = False
        self.graph = torch.cuda.CUDAGraph()
        self.capture()

    def capture(self):
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2
        self.dirty = False

    def resize(self, n: int):
        self.x = torch.zeros(n, device="cuda")  # ok: CG101
        {renew}

    def run(self, x: torch.Tensor):
        if self.graph is None or self.dirty:
            self.capture()
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""
    )
