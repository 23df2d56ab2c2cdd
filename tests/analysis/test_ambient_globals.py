"""Globals that are None at import: set by somebody else before captured code runs, or filled where found empty."""

from __future__ import annotations

from tests.programs import captured, check_marks

_AMBIENT = """
import torch

class Batch:
    def __init__(self, lengths: torch.Tensor):
        self.lengths = lengths.cuda()

_batch: Batch | None = None

def set_batch(batch):
    global _batch
    _batch = batch

def batch():
    assert _batch is not None, "no batch is set"
    return _batch

class Wrapper:
    def __init__(self, model: torch.nn.Linear):
        self.model = model
        self.graph = None

    def __call__(self, x: torch.Tensor):
        if _batch is None:
            return self.model(x)
        if self.graph is None:
            self.model(x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.run(x)
        self.graph.replay()
        return self.y.clone()

    def run(self, x):
        return self.model(x) * self.longest()

    def longest(self):
        return {longest}
"""


def test_code_behind_an_ambient_object_is_reached() -> None:
    program = _AMBIENT.format(longest="batch().lengths.max().item()  # expect: CG302")
    assert "Wrapper.longest" in captured(program)
    check_marks(program, select=("CG302",))


def test_an_ambient_object_is_no_reason_to_report_what_it_holds() -> None:
    check_marks(_AMBIENT.format(longest="batch().lengths.max()  # ok: CG302"), select=("CG302",))


_FILLED = """
import torch

_table = None

def table():
    global _table
    if _table is None:
        _table = Table()
    return _table

class Table:
    def __init__(self):
        self.rows = torch.zeros(8, device="cuda")

def capture(x: torch.Tensor):
    {before}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = table().rows + 1
        if _table is None:
            torch.cuda.synchronize()  # ok: CG301
    return graph, y
"""


def test_a_global_that_is_filled_where_it_is_found_empty_is_run_as_written() -> None:
    check_marks(_FILLED.format(before="table()"), select=("CG301",))
    assert "Table.__init__" in captured(_FILLED.format(before="pass"))
    assert "Table.__init__" not in captured(_FILLED.format(before="table()"))
