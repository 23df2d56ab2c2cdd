"""Graphs that are kept under a key by way of something else."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

SEGMENTS = """\
import torch


class Segments:
    def __init__(self, registry):
        self.registry = registry
        self.parts = []

    def add(self, graph):
        if self.registry is not None:
            self.parts.append(self.registry.register(graph))
        else:
            self.parts.append(graph)

    def replay(self):
        for part in self.parts:
            part.replay()


class Runner:
    def __init__(self, model, registry):
        self.model, self.registry = model, registry
        self.x = torch.zeros(64, 8, device="cuda")
        self.tables = {{}}

    def run(self, n: int, values):
        self.x[:n].copy_(values)
        if n not in self.tables:
            segments = Segments(self.registry)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.model(self.x{part})  # {mark}
            segments.add(graph)
            self.tables[n] = segments
        self.tables[n].replay()
"""


def test_a_graph_that_one_of_two_arms_keeps_stands_for_the_key() -> None:
    check_marked_rules(SEGMENTS.format(part="[:n]", mark="ok: CG402"))


LAYOUT = """\
import torch


class Runner:
    def __init__(self, model):
        self.model, self.graphs, self.inputs = model, {{}}, {{}}
        self.out = torch.zeros(64, 8, device="cuda")

    def run(self, x: torch.Tensor, lengths: torch.Tensor, layout):
        key = {key}
        if key not in self.graphs:
            self.inputs[key] = x.clone()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.out.copy_(self.model(self.inputs[key], lengths))
            self.graphs[key] = graph
        self.inputs[key].copy_(x)
        self.graphs[key].replay()  # {mark}
        return self.out.clone()
"""


@pytest.mark.parametrize(
    ("key", "mark"),
    [
        ("x.shape[0]", "expect: CG101"),
        ("(x.shape[0], layout)", "ok: CG101"),  # the layout may be what the lengths say
    ],
)
def test_arguments_that_an_unknown_key_may_be_made_of(key: str, mark: str) -> None:
    check_marked_rules(LAYOUT.format(key=key, mark=mark))
