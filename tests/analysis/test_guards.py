"""Tests of a field that an arm sets: what is done once in warm-up is not done again in the capture."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

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


SAME_SIZE = """
import torch


class Given:
    def __init__(self, model):
        self.model = model

    @property
    def rows(self) -> int:
        return self.model.{field}


class Task:
    def __init__(self, given: Given):
        self.given = given
        self.rows = None
        self.buffer = None
        self.x = torch.zeros(8, device="cuda")
        self.graph = None

    def ensure(self):
        rows = self.given.rows
        if self.rows == rows and self.buffer is not None:
            return
        self.buffer = torch.zeros(rows, device="cuda")
        self.buffer[0].item()  # {mark}: CG302
        self.rows = {kept}

    def body(self):
        self.ensure()
        return self.x * 2

    def run(self):
        if self.graph is None:
            {warm}
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.body()
        self.graph.replay()
"""


@pytest.mark.parametrize(
    ("field", "kept", "warm", "mark"),
    [("rows", "rows", "self.body()", "ok"), ("rows", "rows", "pass", "expect")],
)
def test_a_number_by_annotation_stays_the_same(field: str, kept: str, warm: str, mark: str) -> None:
    check_marked_rules(SAME_SIZE.format(field=field, kept=kept, warm=warm, mark=mark))
