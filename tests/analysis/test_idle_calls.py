"""Before there is a graph, statements that only tell or check are passed over; whatever else a call does counts."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

REPORTS = """
import functools
import logging
import torch

log = logging.getLogger(__name__)
seen = []

@functools.lru_cache
def _say(logger: logging.Logger, text: str):
    logger.info(text)

def tell(text, rank=0):
    if rank == 0:
        _say(log, text)

def shape(x):
    if x.dim() != 2:
        raise ValueError(f"{x.dim()} dimensions")

class Table:
    def __init__(self):
        self.pages = torch.zeros(8, device="cuda")
        self.quick = False

    @property
    def room(self):
        self.quick = True
        return 8

    def report(self):
        tell(f"{self.room} pages")

    def hurry(self):
        tell("quick from now on")
        self.quick = True

def record(table: Table):
    {before}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = table.pages * 2
        if table.quick:
            torch.cuda.synchronize()  # {mark}: CG301
    return graph, y
"""


@pytest.mark.parametrize(
    ("before", "mark"),
    [
        ("table.quick = True", "expect"),
        ("tell('begin'); table.quick = True", "expect"),
        ("table.hurry()", "expect"),
        ("table.report()", "expect"),
        ("tell(str(table.room))", "expect"),
        ("tell('begin')", "ok"),
        ("shape(table.pages)", "ok"),
    ],
)
def test_a_call_that_changes_something_on_its_way_is_run(before: str, mark: str) -> None:
    check_marks(REPORTS.replace("{before}", before).replace("{mark}", mark))


WARM_UP = """
import torch

def tell(text):
    print(text)

def multiply(x, w):
    return x @ w

def check(x, w):
    if x.shape[1] != w.shape[0]:
        raise ValueError("shapes")

def begin(x, w):
    tell("begin")
    {warm}

def record(w: torch.Tensor):
    x = torch.zeros(8, 8, device="cuda")
    begin(x, w)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # {mark}: CG701
        y = multiply(x, w)
    return graph, x, y
"""


@pytest.mark.parametrize(("warm", "mark"), [("multiply(x, w)", "ok"), ("check(x, w)", "expect")])
def test_what_gives_the_device_work_is_a_warm_up_also_without_a_result(warm: str, mark: str) -> None:
    check_marked_rules(WARM_UP.replace("{warm}", warm).replace("{mark}", mark))
