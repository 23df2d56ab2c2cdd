"""Tests of a field that an arm sets: what is done once in warm-up is not done again in the capture."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch
import torch.nn as nn

class Scaled(nn.Module):
    def __init__(self, width: int, {parameter}):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.fresh, self.scale = {fresh}, {scale}

    def forward(self, x):
        y = self.lin(x)
        if {test}:
            self.scale = y.abs().max().item()  # {mark}: CG302
            self.fresh = False
        return y

class Runner:
    def __init__(self, width: int, depth: int, fresh: bool = True, scale: float | None = None):
        self.layers = nn.ModuleList(Scaled(width, {name}) for _ in range(depth)).cuda()
        self.x = torch.zeros(2, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        x = self.x
        for i, layer in enumerate(self.layers):
            x = layer(x)
        return x

    def capture(self):
        {warmup}
        with torch.cuda.graph(self.graph):
            self.y = self.run()
"""
WARM, COLD = "self.run()", "[layer.lin(self.x) for layer in self.layers]"


@pytest.mark.parametrize(("warmup", "mark"), [(WARM, "ok"), (COLD, "expect")])
def test_a_flag_that_is_cleared_where_it_is_set(warmup: str, mark: str) -> None:
    check_marks(
        PROGRAM.format(
            parameter="fresh: bool",
            name="fresh",
            fresh="fresh",
            scale="1.0",
            test="self.fresh",
            warmup=warmup,
            mark=mark,
        ),
        select=("CG302",),
    )


@pytest.mark.parametrize("test", ["self.scale is None", "not (self.scale is not None)"])
def test_a_value_that_is_made_where_there_is_none(test: str) -> None:
    check_marks(
        PROGRAM.format(
            parameter="scale",
            name="scale",
            fresh="True",
            scale="scale",
            test=test,
            warmup=WARM,
            mark="ok",
        ),
        select=("CG302",),
    )
