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


RECORDS = """
    import torch
    from typing import Optional

    class Entry:
        def __init__(self, key: tuple):
            self.key, self.seen = key, 0
            self.graph: Optional[torch.cuda.CUDAGraph] = None
            self.result = None

    TABLE: dict[tuple, Entry] = {{}}

    def entry_of(key: tuple) -> Entry:
        entry = TABLE.get(key)
        if entry is None:
            entry = TABLE[key] = Entry(key)
        return entry

    class Exchange:
        def __init__(self):
            self.x = torch.zeros(64, device="cuda")

        def run(self, scale: float, shapes: tuple, rows: int):
            entry = entry_of({key})
            if entry.graph is not None:
                entry.graph.replay()
                return entry.result.clone()
            entry.seen += 1
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = self.x * scale  # {mark}: CG402
            graph.replay()
            entry.graph, entry.result = graph, result
            return result.clone()
"""


def test_a_graph_that_a_record_gets_after_it_was_put_under_a_key() -> None:
    check(RECORDS.format(key='("forward", shapes)', mark="ok"))


def test_a_graph_that_a_record_gets_under_a_key_that_is_known() -> None:
    check(RECORDS.format(key='("forward", rows)', mark="expect"))
