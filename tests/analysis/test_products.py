"""`itertools.product`: how many tuples it gives, and which."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

CAPTURES = """
import itertools
import torch

def record(x: torch.Tensor):
    graphs, pool = {{}}, torch.cuda.graph_pool_handle()
    for size, extra in itertools.product({sizes}, {extras}):
        graphs[size, extra] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[size, extra], pool=pool):  # {mark}: CG607
            x[:size].add_(extra)
    return graphs
"""


@pytest.mark.parametrize(
    ("sizes", "extras", "mark"),
    [
        ("range(128, 0, -1)", "range(8)", "expect"),
        ("range(32, 0, -1)", "range(20)", "expect"),
        ("range(128, 0, -1)", "range(4)", "ok"),
        ("(8, 4, 2, 1)", "(0, 1)", "ok"),
    ],
)
def test_all_pairs_are_counted(sizes: str, extras: str, mark: str) -> None:
    check(CAPTURES.format(sizes=sizes, extras=extras, mark=mark))


PAIRS = """
import itertools
import torch

def step(x: torch.Tensor):  # graphlint: captured
    for name, wait in itertools.product(("a", "b"), (False, True)):
        if name == "a" and wait:
            x.item()  # expect: CG302
        if name == "c":
            x.cpu()  # ok: CG303
"""


def test_every_pair_is_met() -> None:
    check(PAIRS)
