"""Static inputs that a capturing function hands to its caller, who knows them by names of its own."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

CAPTURE = """
import torch

def capture(model, n):
    x = torch.zeros(n, device="cuda")
    model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    return graph, x, y
"""

PROGRAMS = {
    "a field": """
class Runner:
    def __init__(self, model, n):
        self.graph, self.x, self.y = capture(model, n)

    def step(self, batch):
        self.x = batch.cuda()  # expect: CG101
        self.graph.replay()
        return self.y.clone()
""",
    "a field that is filled": """
class Runner:
    def __init__(self, model, n):
        self.graph, self.x, self.y = capture(model, n)

    def step(self, batch):
        self.x.copy_(batch.cuda())  # ok: CG101
        self.graph.replay()
        return self.y.clone()
""",
    "a local": """
def run(model, loader):
    graph, x, y = capture(model, 8)
    for batch in loader:
        x = batch.cuda()  # expect: CG101
        graph.replay()
        print(y.sum())
""",
    "a local that is filled and then means something else": """
def run(model, loader):
    graph, x, y = capture(model, 8)
    for batch in loader:
        x.copy_(batch)
        graph.replay()
        print(y.sum())
    x = torch.ones(8, device="cuda")  # ok: CG101
    return model(x)
""",
    "memory that has another name": """
def run(model, loader):
    graph, x, y = capture(model, 8)
    static = x
    for batch in loader:
        x = batch.cuda()  # ok: CG101
        static.copy_(x)
        graph.replay()
        print(y.sum())
""",
    "graphs in a table with their inputs": """
def run(model, loader):
    table = {}
    for n in (8, 4):
        graph, x, y = capture(model, n)  # ok: CG101
        table[n] = graph, x, y
    for batch in loader:
        graph, x, y = table[len(batch)]
        x.copy_(batch)
        graph.replay()
        print(y.sum())
""",
    "an input that is captured anew with its graph": """
class Runner:
    def __init__(self, model, n):
        self.model = model
        self.graph, self.x, self.y = capture(model, n)

    def resize(self, n):
        self.graph, self.x, self.y = capture(self.model, n)  # ok: CG101

    def step(self, batch):
        self.x.copy_(batch)
        self.graph.replay()
        return self.y.clone()
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_name_of_an_input_is_followed_to_the_caller(program: str) -> None:
    check_marked_rules(CAPTURE + program)
