"""Forms that programs use now and then: class attributes as state, heaps, `map` that captures, named children."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PHASE = """
import torch

class Phase:
    number = 0

    @classmethod
    def advance(cls):
        cls.number += 1

class Runner:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = self.x * Phase.number  # {mark}: CG402

    def __call__(self, x):
        {change}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("change", "mark"),
    [("Phase.advance()", "expect"), ("Phase.number = 3", "expect"), ("print(Phase.number)", "ok")],
)
def test_a_number_that_a_class_holds(change: str, mark: str) -> None:
    check_marks(PHASE.format(change=change, mark=mark), select=("CG402",))


HEAP = """
import heapq

import torch

class Model:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y

def best(model: Model, inputs: list[torch.Tensor]):
    heap = []
    for i, x in enumerate(inputs):
        heapq.heappush(heap, (i, model(x){copy}))  # {mark}: CG201
    return torch.stack([y for _, y in heap])
"""


@pytest.mark.parametrize(("copy", "mark"), [("", "expect"), (".clone()", "ok")])
def test_outputs_in_a_heap(copy: str, mark: str) -> None:
    check_marks(HEAP.format(copy=copy, mark=mark), select=("CG201",))


MAPPED = """
import torch

class Table:
    def __init__(self):
        self.x = torch.zeros(64, device="cuda")
        self.pool = torch.cuda.graph_pool_handle()
        self.graphs = list(map(self.capture, {sizes}))  # {mark}: CG601

    def capture(self, n):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            y = self.x[:n] * 2
        return graph, y
"""


@pytest.mark.parametrize(("sizes", "mark"), [("(1, 2, 4)", "expect"), ("reversed((1, 2, 4))", "ok")])
def test_map_is_a_loop(sizes: str, mark: str) -> None:
    check_marks(MAPPED.format(sizes=sizes, mark=mark), select=("CG601",))


def test_children_are_replaced_by_name() -> None:
    check_marks(
        """
        import torch
        import torch.nn as nn

        class Watched(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                y = self.inner(x)
                print(y.sum().item())  # expect: CG302
                return y

        class Net(nn.Module):
            def __init__(self, width: int):
                super().__init__()
                self.lin = nn.Linear(width, width)

            def forward(self, x):
                return self.lin(x)

        def record(width: int):
            net = Net(width).cuda()
            for name, child in net.named_children():
                setattr(net, name, Watched(child))
            x = torch.zeros(2, width, device="cuda")
            net(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = net(x)
            return graph, x, y
        """,
        select=("CG302",),
    )


@pytest.mark.parametrize("kind", ["nn.Module", "Callable[[torch.Tensor], torch.Tensor]"])
def test_what_is_called_by_its_call_method_is_called(kind: str) -> None:
    check_marks(
        f"""
        from collections.abc import Callable
        import torch
        from torch import nn

        class Runner:
            def __init__(self, model: {kind}, width: int):
                self.model = model
                self.x = torch.zeros(2, width, device="cuda")
                self.record()

            def record(self):
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    y = self.model.__call__(self.x)
                    print(y.sum().item())  # expect: CG302
        """,
        select=("CG302",),
    )
