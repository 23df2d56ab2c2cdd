"""Conversions of modules that reach what is within them: memory formats and `apply`."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch
from torch import nn


class Noise(nn.Module):
    def __init__(self):
        super().__init__()
        self.level = 1.0
        self.register_buffer("gain", torch.ones(()))

    def forward(self, x):
        x = x + torch.randn_like(x) * self.level
        return x * self.gain


def quiet(module: nn.Module) -> None:
    if isinstance(module, Noise):
        {quiet}


class Fit:
    def __init__(self):
        self.net = nn.Sequential(nn.{first}, nn.Sequential(Noise())).cuda()
        self.x = torch.zeros(4, 4, 8, 8, device="cuda")
        {before}
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    def finish(self):
        {after}
"""
CONV, LINEAR = "Conv2d(4, 4, 3)", "Linear(4, 4)"
LAST = "self.net.to(memory_format=torch.channels_last)"


@pytest.mark.parametrize(
    ("first", "before", "after", "mark"),
    [
        (CONV, "pass", LAST, "expect"),
        (CONV, LAST, LAST, "ok"),
        (CONV, LAST, "pass", "ok"),
        (LINEAR, "pass", LAST, "ok"),
    ],
)
def test_weights_are_laid_out_anew(first: str, before: str, after: str, mark: str) -> None:
    text = PROGRAM.format(first=first, before=before, after=f"{after}  # {mark}: CG102", quiet="pass")
    check_marks(text, select=("CG102",))


@pytest.mark.parametrize(
    ("quiet", "after", "mark"),
    [
        ("module.level = 0.0", "self.net.apply(quiet)", "expect"),
        ("module.gain.zero_()", "self.net.apply(quiet)", "ok"),
        ("module.level = 0.0", "pass", "ok"),
    ],
)
def test_a_function_is_applied_to_modules_within(quiet: str, after: str, mark: str) -> None:
    text = PROGRAM.format(first=LINEAR, before="pass", after=after, quiet=quiet)
    check_marks(text.replace("* self.level", f"* self.level  # {mark}: CG402"), select=("CG402",))
