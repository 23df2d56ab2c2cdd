"""What the last capture has left in a field; flags that a method turns when it rewrites weights."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

TAPPED = """
import torch

class Net:
    def __init__(self):
        self.taps = []

    def run(self, x):
        h = x * 2
        self.taps = [h]
        return h + 1

class Runner:
    def __init__(self, sizes: list[int]):
        self.net, self.sizes = Net(), sorted(sizes, reverse=True)
        self.x = torch.zeros(self.sizes[0], device="cuda")
        self.graphs, self.outs, self.taps = {{}}, {{}}, {{}}
        self.pool = torch.cuda.graph_pool_handle()

    def capture(self):
        for size in {sizes}:
            self.net.run(self.x[:size])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                self.outs[size] = self.net.run(self.x[:size])
            self.graphs[size] = graph
            self.taps[size] = list(self.net.taps)

    def step(self, x, size: int):
        self.x[:size].copy_(x)
        self.graphs[size].replay()
        {before}
        taps = {taps}  # {mark}: CG201
        return torch.cat([self.outs[size], *taps])
"""


@pytest.mark.parametrize(
    ("sizes", "before", "taps", "mark"),
    [
        ("self.sizes", "pass", "self.net.taps", "expect"),
        ("self.sizes", "pass", "self.taps[size]", "ok"),
        ("self.sizes", "self.net.run(x)", "self.net.taps", "ok"),
        ("[8]", "pass", "self.net.taps", "ok"),
    ],
)
def test_a_field_names_what_the_last_capture_has_computed(
    sizes: str, before: str, taps: str, mark: str
) -> None:
    check(TAPPED.format(sizes=sizes, before=before, taps=taps, mark=mark))


FUSED = """
import torch

class Block:
    def __init__(self):
        self.weight = torch.ones(4, device="cuda")
        self.delta = torch.ones(4, device="cuda")
        self.fused = False

    def fuse(self):
        {fuse}
        self.fused = {value}

    def run(self, x):
        if self.fused:  # {mark}: CG402
            return x * self.weight
        return x * self.weight + x * self.delta

class Runner:
    def __init__(self):
        self.block = Block()
        self.x = torch.zeros(4, device="cuda")
        {early}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.block.run(self.x)
        {late}

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("fuse", "value", "early", "late", "mark"),
    [
        ("self.weight.add_(self.delta)", "True", "pass", "self.block.fuse()", "expect"),
        ("self.weight.add_(self.delta)", "True", "self.block.fuse()", "pass", "ok"),
        ("self.weight.add_(self.delta)", "False", "pass", "self.block.fuse()", "ok"),
        ("pass", "True", "pass", "self.block.fuse()", "ok"),
        ("self.weight.add_(self.delta)", "True", "self.block.fuse()", "self.block.fused = False", "ok"),
    ],
)
def test_a_flag_is_turned_by_what_rewrites_weights(
    fuse: str, value: str, early: str, late: str, mark: str
) -> None:
    check(FUSED.format(fuse=fuse, value=value, early=early, late=late, mark=mark))


LEAVING = """
import atexit

import torch
import torch.distributed as dist

class Worker:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        dist.all_reduce(self.x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            dist.all_reduce(self.x)
        atexit.register(self.close)

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.x.clone()

    def close(self):
        {first}
        dist.destroy_process_group()  # {mark}: CG810
"""


@pytest.mark.parametrize(("first", "mark"), [("pass", "expect"), ("self.graph.reset()", "ok")])
def test_what_is_registered_for_the_exit_runs_last(first: str, mark: str) -> None:
    check(LEAVING.format(first=first, mark=mark))


CUT = """
import torch

def net(x):
    return x * 2

class Runner:
    def __init__(self, sizes: list[int]):
        self.net = torch.compile(net{options})
        self.x = torch.zeros(max(sizes), 8, device="cuda")
        self.graphs, self.outs = {{}}, {{}}
        pool = torch.cuda.graph_pool_handle()
        {before}
        for size in {sizes}:
            {warm}
            torch.cuda.synchronize()
            self.graphs[size] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[size], pool=pool):
                self.outs[size] = self.net(self.x[:size])  # {mark}: CG702
"""
LARGEST = "sorted(sizes, reverse=True)"


@pytest.mark.parametrize(
    ("options", "before", "sizes", "warm", "mark"),
    [
        (", dynamic=False", "self.net(self.x)", LARGEST, "pass", "expect"),
        ("", "self.net(self.x)", LARGEST, "pass", "expect"),
        (", dynamic=True", "self.net(self.x)", LARGEST, "pass", "ok"),
        (", dynamic=False", "pass", LARGEST, "self.net(self.x[:size])", "ok"),
        (", dynamic=False", "pass", "(8, 4)", "self.net(self.x[:size])", "ok"),
        (", dynamic=False", "[self.net(self.x[:n]) for n in sizes]", LARGEST, "pass", "ok"),
    ],
)
def test_compiled_code_is_given_other_parts_turn_by_turn(
    options: str, before: str, sizes: str, warm: str, mark: str
) -> None:
    check(CUT.format(options=options, before=before, sizes=sizes, warm=warm, mark=mark))
