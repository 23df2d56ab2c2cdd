"""CG101: workspaces that grow after a graph has recorded the old block."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

GROWING = """
import torch

class Workspace:
    def __init__(self, size: int):
        self.block = torch.empty(size, device="cuda")

    def reserve(self, n: int):
        if self.block.numel() < n:
            {grow}  # {mark}: CG101

class Runner:
    def __init__(self, space: Workspace):
        self.space = space
        self.x = torch.zeros(4, device="cuda")
        self.record()

    def record(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * self.space.block[:4]

    def step(self, x, n: int):
        self.space.reserve(n)
        {then}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("grow", "then", "mark"),
    [
        ('self.block = torch.empty(n, device="cuda")', "pass", "expect"),
        ("self.block = torch.cat([self.block, self.block])", "pass", "expect"),
        ('self.block = torch.empty(n, device="cuda")', "self.record()", "ok"),
        ('raise RuntimeError("reserve more at start-up")', "pass", "ok"),
    ],
)
def test_growing_between_replays(grow: str, then: str, mark: str) -> None:
    check(GROWING.format(grow=grow, then=then, mark=mark))


BY_DEVICE = """
import torch

_SPACES: dict = {{}}

def space(name, n, device):
    key = (name, device)
    held = _SPACES.get(key)
    if held is None or held.numel() < n:
        held = torch.empty(n, device=device)
        _SPACES[key] = held  # {mark}: CG101
    return held[:n]

def attend(x):
    scratch = space("attend", x.numel(), x.device)
    return x + scratch.view_as(x)

class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        attend(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = attend(self.x)

    def step(self, x: torch.Tensor, prompt: torch.Tensor):
        {first}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("first", "mark"), [("attend(prompt)", "expect"), ("pass", "ok"), ("attend(self.x)", "ok")]
)
def test_a_table_by_devices_gets_a_larger_block(first: str, mark: str) -> None:
    check(BY_DEVICE.format(first=first, mark=mark))
