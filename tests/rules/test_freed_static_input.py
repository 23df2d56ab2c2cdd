"""CG103: inputs of graphs that outlive whatever held the inputs."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

BUILD = """
import torch

KEPT = {{}}

class Holder:
    def __init__(self):
        self.parts = []

def build(model, source: torch.Tensor, holder: Holder):
    x = {make}  # {mark}: CG103
    scale = torch.tensor(2.0)
    for _ in range(2):
        model(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x) * 2

    def run():
        graph.replay()
        return y

    def feed(new):
        x.copy_(new)
        return run()

    {end}
"""
MAKERS = ['torch.zeros(8, device="cuda")', "source.clone()", "source * 2"]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("end", ["return graph, y", "return run", "return graph.replay", "KEPT[0] = graph"])
def test_the_graph_outlives_its_input(make: str, end: str) -> None:
    check(BUILD.format(make=make, mark="expect", end=end))


@pytest.mark.parametrize(
    "end",
    [
        "return graph, x, y",
        "return graph, {'x': x}, y",
        "return graph, x[:4], y",
        "return feed",
        "return lambda: (x, graph.replay())",
        "holder.parts.append(x)\n    return graph",
        "KEPT['x'] = x\n    return graph",
        "graph.replay()\n    return y.clone()",
        "torch.library.keep(x)\n    model.registry.keep(x)\n    return graph",
    ],
)
def test_the_input_is_kept_or_the_graph_is_not(end: str) -> None:
    check(BUILD.format(make=MAKERS[0], mark="ok", end=end))


def test_an_argument_is_held_by_the_caller() -> None:
    check(BUILD.format(make="source", mark="ok", end="return graph, y"))


RUNNER = """
import torch

class Runner:
    def __init__(self, width: int):
        self.graph = torch.cuda.CUDAGraph()
        self.prepare(width)

    def prepare(self, width: int):
        x = torch.zeros(width, device="cuda")  # {mark}: CG103
        {keep}
        self.record(x)

    def record(self, x):
        with torch.cuda.graph(self.graph):
            self.y = torch.tanh(x)
"""


@pytest.mark.parametrize(
    ("keep", "mark"), [("pass", "expect"), ("self.x = x", "ok"), ("self.all = [x]", "ok")]
)
def test_the_region_is_in_another_method(keep: str, mark: str) -> None:
    check(RUNNER.format(keep=keep, mark=mark))


def test_pinned_memory_that_a_recorded_copy_reads() -> None:
    program = """
        import torch

        def build(width: int):
            host = torch.zeros(width, pin_memory=True)  # {mark}: CG103
            x = torch.zeros(width, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                x.copy_(host, non_blocking=True)
                y = torch.tanh(x)
            return graph, x, y{more}
        """
    check(program.format(mark="expect", more=""))
    check(program.format(mark="ok", more=", host"))


def test_a_cache_that_is_emptied() -> None:
    program = """
        import functools

        import torch

        @functools.lru_cache(maxsize=None)
        def table(size: int):
            return torch.ones(size, device="cuda")

        class Runner:
            def __init__(self):
                self.x = torch.zeros(16, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                {keep}
                with torch.cuda.graph(self.graph):
                    self.y = self.x * table(16)

            def trim(self):
                table.cache_clear()  # {mark}: CG103

            def __call__(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """
    check(program.format(keep="table(16)", mark="expect"))
    check(program.format(keep="self.table = table(16)", mark="ok"))
