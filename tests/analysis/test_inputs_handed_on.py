"""Memory that a wrapper captures what it is given with: the caller names it, and gives it up by that name."""

import pytest

from tests.programs import check_marks

WRAPPED = """
import torch

class Captured:
    def __init__(self, function):
        self.function, self.graph, self.output = function, None, None

    def __call__(self, *rows) -> torch.Tensor:
        if self.graph is None:
            self.function(*rows)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.output = self.function(*rows)
        self.graph.replay()
        return self.output.clone()

class Rows:
    def __init__(self, count: int):
        self.gpu = torch.zeros(count, device="cuda")

class Runner:
    def __init__(self, count: int):
        self.rows = Rows(count)
        self.run = Captured(lambda rows: rows * 2)
        self.run(self.rows.gpu)

    def step(self, fresh: torch.Tensor) -> torch.Tensor:
        {load}
        return self.run(self.rows.gpu)
"""


@pytest.mark.parametrize(
    "load",
    [
        "self.rows.gpu = fresh.to('cuda')  # expect: CG101",
        "self.rows = Rows(len(fresh))  # expect: CG101",
        "self.rows.gpu.copy_(fresh)  # ok: CG101",
    ],
)
def test_what_a_wrapper_was_handed_stays_named(load: str) -> None:
    check_marks(WRAPPED.format(load=load), select=("CG101",))
