"""Records that the program is given, and settings that a module computes when they are asked for."""

from __future__ import annotations

from tests.programs import check_marks

_RECORD = """
import dataclasses
import torch

@dataclasses.dataclass
class Part:
    lengths: torch.Tensor

@dataclasses.dataclass
class Batch:
    total: int
    decode: Part | None = None

def forward(x: torch.Tensor, batch: Batch):  # graphlint: captured
    assert batch.decode is not None
    {body}
    return x
"""


def test_a_part_of_a_given_record_may_be_there_whatever_its_default() -> None:
    check_marks(
        _RECORD.format(body="x = x + batch.decode.lengths.item()  # expect: CG302"), select=("CG302",)
    )
    check_marks(_RECORD.format(body="x = x + batch.decode.lengths  # ok: CG302"), select=("CG302",))


_SETTINGS = {
    "settings.py": """
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    STRICT: bool = False

_COMPUTED = {"STRICT": lambda: bool(int(os.getenv("STRICT", "0")))}

def __getattr__(name):
    if name in _COMPUTED:
        return _COMPUTED[name]()
    raise AttributeError(name)
""",
    "step.py": """
import settings
import torch

def capture(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        if settings.STRICT:
            torch.cuda.synchronize()  # expect: CG301
    return graph
""",
}


def test_a_setting_that_is_declared_for_the_type_checker_is_computed() -> None:
    check_marks(_SETTINGS, select=("CG301",))
