"""CG404: random numbers and times that captured Python code takes."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import random
import time

import numpy as np
import torch

rng = np.random.default_rng(0)


def build(net, report):
    x = torch.zeros(4, 4, device="cuda")
    {before}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        {inside}
        y = net(x)
    graph.replay()
    return y.clone()
"""


@pytest.mark.parametrize(
    "inside",
    [
        "x.mul_(random.random())  # expect: CG404",
        "x.mul_(random.Random(3).uniform(0, 1))  # expect: CG404",
        "x.mul_(np.random.uniform())  # expect: CG404",
        "x.mul_(rng.normal())  # expect: CG404",
        "x = x[random.randint(0, 3)]  # expect: CG404",
        "x = random.choice([x, x + 1])  # expect: CG404",
        "x.add_(time.time())  # expect: CG404",
        "report(time.perf_counter())  # ok: CG404",
        "x.mul_(torch.rand((), device='cuda'))  # ok: CG404",
    ],
)
def test_what_captured_code_draws(inside: str) -> None:
    check_marks(PROGRAM.format(before="pass", inside=inside))


def test_what_is_drawn_before() -> None:
    check_marks(PROGRAM.format(before="report(random.random())  # ok: CG404", inside="pass"))


LOGGED = """
import logging
import time

import torch

log = logging.getLogger(__name__)
last = 0.0


def build(net):
    x = torch.zeros(4, 4, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = forward(net, x)
    graph.replay()
    return y.clone()


def forward(net, x):
    global last
    now = time.perf_counter()
    if now - last > 10:  # {mark}: CG404
        last = now
        {statement}
    return net(x)
"""


@pytest.mark.parametrize(
    ("statement", "mark"),
    [("log.info('still here')", "ok"), ("pass", "ok"), ("x.zero_()", "expect"), ("return x * 2", "expect")],
)
def test_a_clock_that_decides_only_what_is_logged(statement: str, mark: str) -> None:
    check_marks(LOGGED.format(statement=statement, mark=mark))


@pytest.mark.parametrize(
    ("draw", "mark"),
    [
        ("start = int(torch.randint(0, 5, (1,)))", "expect"),
        ("start = torch.randint(0, 5, (1,)).item()", "expect"),
        ("start = 2 if torch.rand(1) < 0.5 else 0", "expect"),
        ("start = 2 if (torch.rand(1) * 2).item() < 0.5 else 0", "expect"),
        ("start = 2; drawn = torch.rand(4, device='cuda')", "ok"),
        ("start = 2; drawn = torch.rand(1)", "ok"),
    ],
)
def test_numbers_of_tensors_that_are_drawn_on_the_host(draw: str, mark: str) -> None:
    check_marks(
        f"""
        import torch

        def body(x):
            {draw}  # {mark}: CG404
            return x[start:] * 2

        def main():
            x = torch.zeros(8, device="cuda")
            body(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = body(x)
            graph.replay()
            return y.clone()
        """,
        select=("CG404",),
    )
