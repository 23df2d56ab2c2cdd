"""Costly calls outside of captured code are cut short: what they would have done is asked for piece by piece."""

from __future__ import annotations

import pytest

from graphlint.analysis import units
from tests.programs import check_marks, findings, regions

_COSTLY = "\n".join(f"        self.part_{n} = str(int(n + {n}))" for n in range(700))


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "STEPS", 9000)


_ENGINE = """
import torch

class Table:
    def __init__(self, rows):
        self.rows = torch.zeros(rows, device="cuda")

class Engine:
    def __init__(self, n: int, debug: bool = False):
        width = n * 2
        self.wait = False
        self.table = Table(width)
        self._fill(width)
{costly}
        if not debug:
            self.wait = True

    def _fill(self, width):
        self.extra = torch.ones(width, device="cuda")

class Runner:
    def __init__(self, n: int):
        self.engine = Engine(n)
        self.graph = None
""".replace("{costly}", _COSTLY)


def test_fields_of_a_costly_object_are_found_one_by_one() -> None:
    check_marks(
        _ENGINE
        + """
    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.engine.table.rows + self.engine.extra
            if self.engine.wait:
                torch.cuda.synchronize()  # expect: CG301

    def step(self, x: torch.Tensor):
        self.engine.extra = x.cuda()  # expect: CG101
        self.graph.replay()
        return self.y
"""
    )


def test_writes_into_what_a_costly_object_holds_are_no_rebinding() -> None:
    check_marks(
        _ENGINE
        + """
    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.engine.table.rows + self.engine.extra
            if not self.engine.wait:
                torch.cuda.synchronize()  # ok: CG301

    def step(self, x: torch.Tensor):
        self.engine.extra.copy_(x)  # ok: CG101
        self.graph.replay()
        return self.y
"""
    )


def test_nothing_behind_a_call_that_was_cut_short_is_definite() -> None:
    program = (
        _ENGINE
        + """
    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            torch.cuda.synchronize()
"""
    )
    assert {each.confidence.value for each in findings(program) if each.code == "CG301"} == {"likely"}
    assert any("cut short" in call.reason for each in regions(program) for call in each.unresolved)


_PREPARED = """
import torch

MODE = None

class Runner:
    def __init__(self, n: int):
        self.n = n
        self.graph = None
        self.checked = False

    def load(self):
        global MODE
        MODE = "fast"
        self.checked = self.n > 3
        self.weight = torch.ones(self.n, device="cuda")
{costly}

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.weight * 2
            if self.checked is None:
                torch.cuda.synchronize()  # ok: CG301
            if MODE is None:
                torch.cuda.synchronize(){mark}

    def step(self, x: torch.Tensor):
        {step}
        self.graph.replay()
        return self.y
"""


def test_a_costly_preparation_still_gives_the_fields_that_it_writes() -> None:
    check_marks(
        _PREPARED.format(
            costly=_COSTLY.replace("n +", "self.n +"),
            step="self.weight = x.cuda()  # expect: CG101",
            mark="  # expect: CG301",
        )
    )


def test_what_a_costly_preparation_writes_is_no_longer_what_it_was() -> None:
    program = _PREPARED.format(
        costly=_COSTLY.replace("n +", "self.n +"), step="self.weight.copy_(x)", mark=""
    )
    assert [each for each in findings(program) if each.confidence.value == "definite"] == []


_WARMED = """
import torch

class Model:
    def __init__(self, n: int):
        self.cache = None

    def forward(self, x):
        if self.cache is None:
            self.cache = torch.ones(4, device="cuda")  # ok: CG603
        return x + self.cache

def warm_up(model, x, n):
    parts = {{}}
{costly}
    model.forward(x)

def capture(x: torch.Tensor, n: int):
    model = Model(n)
    warm_up(model, x, n)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model.forward(x)
    return graph, model, y
"""


def test_a_warm_up_that_was_cut_short_may_have_filled_what_captured_code_finds_empty() -> None:
    costly = "\n".join(f"    parts[{n}] = str(int(n + {n}))" for n in range(900))
    check_marks(_WARMED.format(costly=costly), select=("CG603", "CG701"))
    reported = {
        each.code
        for each in findings(_WARMED.format(costly="").replace("warm_up(model, x, n)\n    graph", "graph"))
    }
    assert "CG603" in reported


_TABLES = """
import torch

TABLES = {}

def table(weights):
    key = (weights.data_ptr(), weights.dtype)
    found = TABLES.get(key)
    if found is not None:
        return found
    made = weights.cpu() * 2  # {mark}: CG303
    {kept}
    return made

def forward(x, weights, n: int):
    if not torch.cuda.is_current_stream_capturing():
{costly}
    return x + table(weights)

def main(n: int):
    x, weights = torch.zeros(8, device="cuda"), torch.ones(8, device="cuda")
    forward(x, weights, n)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = forward(x, weights, n)
    graph.replay()
    return y.clone()
"""


@pytest.mark.parametrize(("kept", "mark"), [("TABLES[key] = made", "ok"), ("pass", "expect")])
def test_a_cache_that_a_costly_warm_up_has_filled(kept: str, mark: str) -> None:
    costly = "\n".join(f"        part_{n} = str(int(n + {n}))" for n in range(900))
    program = _TABLES.replace("{costly}", costly).replace("{kept}", kept).replace("{mark}", mark)
    check_marks(program, select=("CG303",))


_TUNED = "TUNED = [" + ", ".join(f"int({n} + {n})" for n in range(450)) + "]\n"
_KERNELS = (
    """
import torch

"""
    + _TUNED
    + """

def tuned():
    return TUNED

def multiply(x: torch.Tensor):
    tuned()
    return x * 2

def capture(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = multiply(x)
        z = multiply(y).sum().item()  # expect: CG302
    return graph, z
"""
)


def test_captured_code_is_not_cut_short_by_a_global_that_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "STEPS", 4000)
    check_marks(_KERNELS)
    assert not [each for region in regions(_KERNELS) for each in region.unresolved]
