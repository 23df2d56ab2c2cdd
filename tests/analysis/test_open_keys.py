"""Graphs kept under a key whose parts are not known: what comes out of it belongs to the graph."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

PROGRAM = """
import torch
from typing import Tuple

class Patches:
    def __init__(self):
        self.x = torch.zeros(64, 16, device="cuda")
        self.graphs = {{}}

    def body(self, shapes):
        start, parts = 0, []
        for t, h, w in shapes:
            parts.append(self.x[start : start + t * h * w].mean(0))  # ok: CG402
            start += t * h * w
        return torch.stack(parts)

    def run(self, x: torch.Tensor, shapes: {kind}):
        entry = self.graphs.get({key})
        if entry is None:
            self.body(shapes)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = self.body(shapes)
            entry = self.graphs[{key}] = (graph, y)
        self.x.copy_(x)
        entry[0].replay()
        return entry[1].clone()
"""


@pytest.mark.parametrize("kind", ["Tuple[Tuple[int, int, int], ...]", "Tuple[Shape, ...]", "tuple"])
@pytest.mark.parametrize("key", ["shapes", "(x.dtype, shapes)"])
def test_numbers_of_the_key(kind: str, key: str) -> None:
    check(PROGRAM.format(kind=kind, key=key))


def test_a_number_beside_a_key_that_is_known() -> None:
    program = """
        import torch

        class Scaled:
            def __init__(self):
                self.x = torch.zeros(64, device="cuda")
                self.graphs = {}

            def run(self, rows: int, scale: float):
                entry = self.graphs.get(rows)
                if entry is None:
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        y = self.x[:rows] * scale  # expect: CG402
                    entry = self.graphs[rows] = (graph, y)
                entry[0].replay()
                return entry[1].clone()
        """
    check(program)
