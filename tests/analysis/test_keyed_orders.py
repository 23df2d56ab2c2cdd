"""What `sorted` says about the sizes in the elements: by a key, or by the first field of records."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import operator
from dataclasses import dataclass

import torch

@dataclass(order=True)
class Plan:
    size: int
    name: str = ""

class Runner:
    def __init__(self, sizes: list[int]):
        self.plans = [{element} for size in sizes]
        self.x = torch.zeros(64, device="cuda")
        self.graphs, self.pool = {{}}, torch.cuda.graph_pool_handle()

    def capture(self):
        for plan in sorted(self.plans{how}):  # {mark}: CG601
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                y = self.x[: plan{size}] * 2
            self.graphs[plan{size}] = graph, y
"""
RECORD, PAIR = ("Plan(size)", ".size"), ("(size, 'a')", "[0]")


@pytest.mark.parametrize(
    ("kind", "how", "mark"),
    [
        (RECORD, "", "expect"),
        (RECORD, ", reverse=True", "ok"),
        (RECORD, ", key=lambda plan: plan.size", "expect"),
        (RECORD, ", key=lambda plan: -plan.size", "ok"),
        (RECORD, ", key=operator.attrgetter('size')", "expect"),
        (RECORD, ", key=lambda plan: plan.name", "ok"),
        (PAIR, ", key=lambda plan: plan[0]", "expect"),
        (PAIR, ", key=operator.itemgetter(0), reverse=True", "ok"),
    ],
)
def test_elements_are_ordered_by_what_the_key_looks_at(kind: tuple[str, str], how: str, mark: str) -> None:
    check_marks(PROGRAM.format(element=kind[0], size=kind[1], how=how, mark=mark), select=("CG601",))
