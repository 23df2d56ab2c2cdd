"""Tests of size in captured code that a warm-up at the same sizes has satisfied."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

SPACE = """
import torch

_TABLES = {{}}

class Space:
    def __init__(self):
        self.block = torch.empty(0, device="cuda")
        self.shape = None

    def reserve(self, rows: int, device: torch.device):
        {grow}
        return self.block[:rows]

def table(rows: int, device: torch.device):
    {look_up}
    return _TABLES[rows, device]

class Runner:
    def __init__(self, space: Space):
        self.space = space
        self.graphs, self.warm = {{}}, set()

    def body(self, x):
        return x * self.space.reserve(x.shape[0], x.device)[0] + table(x.shape[0], x.device)

    def run(self, x: torch.Tensor):
        key = x.shape[0]
        if key not in self.graphs:
            {warm}
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = self.body(x)
            self.graphs[key] = graph
        self.graphs[key].replay()
        return self.y.clone()
"""
WAYS = {"grow": "pass", "look_up": "pass", "warm": "self.body(x)"}
WARM_BEFORE = (
    "if key not in self.warm:\n                self.warm.add(key)\n                return self.body(x)"
)
GROW = """if self.block.shape[0] < rows:
            self.block = torch.tensor([1.0] * rows).to(device)  # {mark}: CG306, CG603"""
RESHAPE = """if self.shape != rows:
            self.shape = rows
            self.block = torch.tensor([1.0] * rows).to(device)  # {mark}: CG306, CG603"""
LOOK_UP = """if (rows, device) not in _TABLES:
        _TABLES[rows, device] = torch.tensor([1.0] * rows).to(device)  # {mark}: CG306, CG603"""


@pytest.mark.parametrize("part", [{"grow": GROW}, {"grow": RESHAPE}, {"look_up": LOOK_UP}])
@pytest.mark.parametrize("warm", ["self.body(x)", WARM_BEFORE])
def test_the_warm_up_has_made_room(part: dict[str, str], warm: str) -> None:
    filled = {name: text.format(mark="ok") for name, text in part.items()}
    check(SPACE.format(**{**WAYS, **filled, "warm": warm}))


def test_nothing_has_made_room() -> None:
    check(
        SPACE.format(
            **{**WAYS, "look_up": LOOK_UP.format(mark="expect").replace("CG306, ", ""), "warm": "pass"}
        )
    )


def test_a_test_that_is_not_about_what_is_there() -> None:
    grow = """if rows % 64 == 0:
            self.block = torch.tensor([1.0] * rows).cuda()  # expect: CG306"""
    check(SPACE.format(**{**WAYS, "grow": grow}))


STREAMS = """
import torch

_FLAGS = {{}}

def flags(device: torch.device):
    key = {key}
    if key not in _FLAGS:
        _FLAGS[key] = torch.zeros(8, device=device)  # {mark}: CG603
    return _FLAGS[key]

def record(x: torch.Tensor):
    x = x.cuda()
    y = x * flags(x.device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * flags(x.device)
    return graph, x, y
"""


@pytest.mark.parametrize(
    ("key", "mark"),
    [
        ("(device.index or 0, torch.cuda.current_stream(device).cuda_stream)", "expect"),
        ("(device, torch.cuda.current_stream(device).cuda_stream)", "expect"),
        ("(device.index or 0, 8)", "ok"),
        ("str(device)", "ok"),
    ],
)
def test_another_stream_has_a_table_of_its_own(key: str, mark: str) -> None:
    check(STREAMS.format(key=key, mark=mark))


UNKNOWN = """
import torch

class Runner:
    def __init__(self, layer):
        self.layer = layer

    def body(self, x, layer):
        {fill}
        return x * 2

    def record(self, x: torch.Tensor):
        x = x.cuda()
        {warm}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.body(x, self.layer)
"""
FILLS = {
    "a field": """if getattr(layer, "table", None) is None:
            layer.table = torch.tensor([1.0, 2.0]).cuda()  # {mark}: CG306""",
    "a field that may be there": """if not hasattr(layer, "table"):
            layer.table = torch.tensor([1.0, 2.0]).cuda()  # {mark}: CG306""",
    "an entry": """if x.shape[0] not in layer.tables:
            layer.tables[x.shape[0]] = torch.tensor([1.0, 2.0]).cuda()  # {mark}: CG306""",
    "not for good": """if x.shape[0] % 2 == 0:
            layer.table = torch.tensor([1.0, 2.0]).cuda()  # {mark}: CG306""",
}


@pytest.mark.parametrize("which", ["a field", "a field that may be there", "an entry"])
def test_something_unknown_was_filled_in_the_warm_up(which: str) -> None:
    check(UNKNOWN.format(fill=FILLS[which].format(mark="ok"), warm="self.body(x, self.layer)"))
    check(UNKNOWN.format(fill=FILLS[which].format(mark="expect"), warm="pass"))


def test_something_unknown_is_filled_time_and_again() -> None:
    fill = FILLS["not for good"].format(mark="expect")
    check(UNKNOWN.format(fill=fill, warm="self.body(x, self.layer)"))
