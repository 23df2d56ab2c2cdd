"""A graph that may be captured anew: a write that does not make it so is one that the older graph misses."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch

class Sampler:
    def __init__(self):
        self.strength = 1.0
        self.x = None
        self.graph = None

    def set_strength(self, strength: float) -> None:
        if strength != self.strength:
            self.strength = strength
            {also}

{methods}
    def record(self, x):
        self.x = torch.zeros_like(x, device="cuda")
        self.x * self.strength
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * self.strength  # {mark}: CG402

    def __call__(self, x: torch.Tensor):
        if self.x is None or self.x.shape != x.shape:
            self.record(x)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


FORGET = """
    def _forget(self):
        self.x = None
"""


@pytest.mark.parametrize(
    ("also", "methods", "mark"),
    [("self.x = None", "", "ok"), ("self._forget()", FORGET, "ok"), ("print(strength)", "", "expect")],
)
def test_a_number_is_set_together_with_what_decides_about_a_new_capture(
    also: str, methods: str, mark: str
) -> None:
    check_marks(PROGRAM.format(also=also, methods=methods, mark=mark), select=("CG402",))


TABLE = """
from dataclasses import dataclass

import torch

@dataclass
class Meta:
    lens: torch.Tensor

class Backend:
    def __init__(self):
        self.table = {{}}
        self.meta = None

    def prepare(self, size, lens):
        if {test}:
            self.table[size] = Meta(lens + 1)
        else:
            self.table[size].lens.copy_(lens)
        self.meta = self.table[size]  # {mark}: CG101

class Runner:
    def __init__(self, sizes: list[int]):
        self.backend, self.sizes, self.graphs = Backend(), sorted(sizes, reverse=True), {{}}

    def capture(self):
        for size in self.sizes:
            self.backend.prepare(size, torch.ones(size, device="cuda"))
            self.graphs[size] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[size]):
                self.y = self.backend.meta.lens * 2

    def __call__(self, lens: torch.Tensor):
        size = lens.shape[0]
        self.backend.prepare(size, lens)
        self.graphs[size].replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("test", "mark"), [("size not in self.table", "ok"), ("self.sizes", "expect"), ("lens.numel()", "expect")]
)
def test_a_table_filled_at_capture_has_the_sizes_that_are_replayed(test: str, mark: str) -> None:
    check_marks(TABLE.format(test=test, mark=mark), select=("CG101",))


def test_a_test_may_look_at_fields_through_a_method() -> None:
    check_marks(
        """
        import torch

        class Runner:
            def __init__(self):
                self.scale, self.graph, self.recorded = 1.0, None, None
                self.x = torch.zeros(4, device="cuda")

            def settings(self):
                return (self.scale,)

            def set_scale(self, scale: float):
                self.scale = scale

            def record(self):
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * self.scale  # ok: CG402
                self.recorded = self.settings()

            def __call__(self, x):
                if self.graph is None or self.recorded != self.settings():
                    self.record()
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """,
        select=("CG402",),
    )
