"""Answers of tests that a local name keeps tell what the tested name is."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

PROGRAM = """
import torch

def record(x: torch.Tensor, limit: bool | torch.Tensor, bound: torch.Tensor | None):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        {kept}
        {between}
        {use}  # {mark}: CG302
    return graph, x, y
"""
KEPT = "each = isinstance(limit, torch.Tensor)"


@pytest.mark.parametrize(
    ("kept", "use"),
    [
        (KEPT, "y = x * (bool(limit) if not each else 1)"),
        (KEPT, "y = x * limit if each else x * bool(limit)"),
        ("flag = not isinstance(limit, torch.Tensor)", "y = x * bool(limit) if flag else x * limit"),
        ("given = bound is not None", "y = x * bound.sum() if given else x"),
    ],
)
def test_the_answer_rules_the_tensor_out(kept: str, use: str) -> None:
    check(PROGRAM.format(kept=kept, between="pass", use=use, mark="ok"))


@pytest.mark.parametrize(
    ("between", "use"),
    [
        ("pass", "y = x * (bool(limit) if each else 1)"),
        ("limit = bound", "y = x * (bool(limit) if not each else 1)"),
        ("each = x.shape[0] > 2", "y = x * (bool(limit) if not each else 1)"),
    ],
)
def test_the_answer_says_tensor_or_is_of_another_value(between: str, use: str) -> None:
    check(PROGRAM.format(kept=KEPT, between=between, use=use, mark="expect"))


GENERATOR = """
import torch

def signs(width: int, where: str):
    gen = torch.Generator(device={device})
    gen.manual_seed(17)  # {mark}: CG505
    return torch.bernoulli(torch.full((width,), 0.5, device={device}), generator=gen)

def record(x: torch.Tensor):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
        signs(8, "cuda")
    return graph, x, y
"""


@pytest.mark.parametrize(("device", "mark"), [("'cpu'", "ok"), ("'cuda'", "expect"), ("where", "expect")])
def test_generators_of_the_host_are_no_random_state_of_the_device(device: str, mark: str) -> None:
    check(GENERATOR.format(device=device, mark=mark))
