"""A graph that is captured anew under the name that is replayed: what was bound for it is its own."""

from __future__ import annotations

from tests.programs import check_marks

SIZED = """
import enum
import torch

class Mode(enum.Enum):
    WHOLE = "whole"
    NONE = "none"

class Buffers:
    def __init__(self, rows: int):
        self.rows = rows
        self.x = torch.zeros(rows, 8, device="cuda")
        self.y = torch.zeros(rows, 8, device="cuda")

class Decoder:
    def __init__(self, mode: str):
        self.mode = Mode(mode)
        self.buffers = None
        self.graph = None
        self.rows = 0

    def body(self):
        self.buffers.y.copy_(self.buffers.x * 2)
        self.buffers.y[: self.rows].mul_(self.rows)

    def renew(self, rows):
        self.rows = max(self.rows, rows)
        self.buffers = Buffers(self.rows)
        self.body()
        if self.mode is Mode.WHOLE:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.body()
            self.graph = graph

    def step(self, x: torch.Tensor):
        rows = x.shape[0]
        if self.buffers is None or rows > self.buffers.rows:
            self.renew(rows)
        {between}
        self.buffers.x[:rows].copy_(x)
        if self.mode is Mode.WHOLE:
            self.graph.replay()
        else:
            self.body()
        return self.buffers.y[:rows].clone()
"""


def test_what_is_bound_together_with_a_new_capture_belongs_to_it() -> None:
    check_marks(SIZED.format(between="pass"))


def test_what_is_bound_after_the_new_capture_is_missed_by_it() -> None:
    check_marks(SIZED.format(between="self.buffers.x = torch.empty_like(self.buffers.x)  # expect: CG101"))
