"""Graphs kept by size whose inputs lose their last name when a later size gets its own."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

ON_DEMAND = """
import torch

class Rows:
    def __init__(self, net):
        self.net = net
        self.graphs, self.inputs = {{}}, {{}}

    def __call__(self, batch: torch.Tensor):
        rows = batch.shape[0]
        if {missing}:
            {first}
            self.x = torch.zeros(rows, 16, device="cuda")  # {mark}: CG101
            self.net(self.x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = self.net(self.x)
            self.graphs[rows] = {kept}
        {fill}
        {replay}
        return self.y.clone()
"""
WAYS = {
    "missing": "rows not in self.graphs",
    "first": "pass",
    "kept": "graph",
    "fill": "self.x.copy_(batch)",
    "replay": "self.graphs[rows].replay()",
    "mark": "expect",
}


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"missing": "self.graphs.get(rows) is None"},
        {"kept": "(graph, self.y)", "replay": "self.graphs[rows][0].replay()"},
    ],
)
def test_the_inputs_of_an_older_size_are_let_go(way: dict[str, str]) -> None:
    check(ON_DEMAND.format(**{**WAYS, **way}))


@pytest.mark.parametrize(
    "way",
    [
        {"kept": "(graph, self.x)", "replay": "self.graphs[rows][0].replay()"},
        {"first": "self.inputs[rows] = self.net.inputs(rows)", "kept": "graph; self.inputs[rows] = self.x"},
        {"first": "self.graphs.clear()"},
        {"first": "self.graphs = {}"},
        {"missing": "self.graphs.get(rows) is None", "kept": "graph; self.net.keep(self.x)"},
    ],
)
def test_the_older_inputs_are_held_or_the_older_graphs_dropped(way: dict[str, str]) -> None:
    check(ON_DEMAND.format(**{**WAYS, **way, "mark": "ok"}))


RESIZED = """
import torch

class Steps:
    def __init__(self, net, sizes: list[int]):
        self.net, self.sizes = net, sizes
        self.graphs = {{}}
        self.resize(8)

    def resize(self, width: int):
        {outside}
        for size in self.sizes:
            {inside}
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = self.net(self.x[:size])
            self.graphs[size] = graph

    def step(self, size: int):
        self.graphs[size].replay()
        return self.y.clone()
"""


def test_every_size_is_captured_anew() -> None:
    outside = 'self.x = torch.zeros(64, width, device="cuda")  # ok: CG101'
    check(RESIZED.format(outside=outside, inside="pass"))


def test_each_turn_takes_the_name_from_the_turn_before() -> None:
    inside = 'self.x = torch.zeros(size, width, device="cuda")  # expect: CG101'
    check(RESIZED.format(outside="pass", inside=inside))


SCRATCH = """
import torch

_SPACE = {{}}

def space(rows: int, width: int, device: torch.device):
    key = (device.index, int(width))
    entry = _SPACE.get(key)
    held = 0 if entry is None else int(entry["rows"])
    if {small}:
        entry = {{"rows": max(rows, held * 2), "ids": torch.arange(rows * width, device=device)}}
        _SPACE[key] = entry  # {mark}: CG101
    return entry["ids"][:rows]

class Accept:
    def __init__(self):
        self.graphs, self.warm, self.pool = {{}}, set(), None

    def run(self, x: torch.Tensor):
        rows, width = x.shape
        {before}
        key = (rows, x.data_ptr())
        graph = self.graphs.get(key)
        if graph is None:
            if key not in self.warm:
                self.warm.add(key)
                return x + space(rows, width, x.device)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = x + space(rows, width, x.device)
            self.graphs[key] = graph
        graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize("small", ["held < rows", "entry is None or held < rows"])
def test_a_shared_entry_grows_with_the_batch(small: str) -> None:
    check(SCRATCH.format(small=small, mark="expect", before="pass"))


@pytest.mark.parametrize(
    ("small", "before"),
    [
        ("entry is None", "pass"),
        ("key not in _SPACE", "pass"),
        ("held < rows", "if rows > 64:\n            self.graphs.clear()"),
    ],
)
def test_a_shared_entry_stays_or_the_graphs_go(small: str, before: str) -> None:
    check(SCRATCH.format(small=small, mark="ok", before=before))


def test_a_graph_that_was_looked_up_is_replayed_as_well_as_a_new_one() -> None:
    check(
        """
        import torch

        class Lookup:
            def __init__(self):
                self.graphs = {}
                self.scale = torch.ones(4, device="cuda")

            def run(self, x: torch.Tensor):
                graph = self.graphs.get(x.shape[0])
                if graph is None:
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        self.y = self.scale * 2
                    self.graphs[x.shape[0]] = graph
                graph.replay()
                out = self.y.clone()
                self.scale = x.sum(0)  # expect: CG101
                return out
        """
    )
