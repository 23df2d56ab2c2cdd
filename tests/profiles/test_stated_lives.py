"""Objects used as a profile states: planned, captured, planned again, replayed; what `run` reads is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphlint.config import ConfigError, config_from
from graphlint.profiles import profile_from
from tests.programs import check_marked_rules, findings

WRAPPER = """
import torch


class BatchDecodeWithPagedKVCacheWrapper:
    def __init__(self, workspace: torch.Tensor, use_cuda_graph: bool = False,
                 paged_kv_indptr_buffer: torch.Tensor | None = None, backend: str = "auto"):
        if use_cuda_graph and not torch.is_tensor(paged_kv_indptr_buffer):
            raise ValueError("a buffer is needed")
        self.indptr = paged_kv_indptr_buffer
        self.backend = backend
        self.tables = None
        self.lengths = torch.empty(1024, dtype=torch.int32, device="cuda")

    def plan(self, indptr: torch.Tensor, scale: float, tables: torch.Tensor | None = None) -> None:
        self.tables = tables  # ok: CG101
        lengths = indptr.cpu()
        self.indptr.copy_(indptr)
        self.scale = scale
        if self.backend == "trtllm-gen":
            self.lengths[: len(lengths)].copy_(lengths)
            if len(lengths) > self.lengths.shape[0]:
                self.lengths = torch.empty(len(lengths), dtype=torch.int32, device="cuda")  # ok: CG101
            if self.tables is None:
                self.tables = torch.zeros((4, 4), device="cuda")  # expect: CG101
        elif self.backend == "cutile":
            self.lengths = lengths.to(device="cuda", dtype=torch.int32)  # expect: CG101
        else:
            self.lengths = torch.empty(4, device="cuda")  # ok: CG101

    def run(self, q: torch.Tensor, out: torch.Tensor):
        if self.backend == "trtllm-gen":
            out.copy_(q * self.scale + self.tables.sum() + self.lengths.sum())  # ok: CG402
        else:
            out.copy_(q * self.scale + self.lengths.sum() + self.indptr.sum())  # ok: CG402
        return out
"""


def test_what_a_later_plan_makes_anew_is_not_what_the_graph_reads() -> None:
    check_marked_rules({"flashinfer/__init__.py": "", "flashinfer/decode.py": WRAPPER})


def test_buffers_that_a_plan_fills_in_place_are_the_same() -> None:
    program = """
import torch


class Wrapper:
    def __init__(self, rows: int, graph: bool = False):
        self.tables = torch.zeros(rows, device="cuda")

    def plan(self, tables: torch.Tensor, scale: float):
        self.scale = scale
        self.tables.copy_(tables)

    def run(self, out: torch.Tensor):
        out.copy_(self.tables * self.scale)
"""
    life = {"class": "kernels:Wrapper", "between": "plan", "given": {"graph": True}}
    profile = profile_from(
        {"recognise": ["kernels"], "captured": ["kernels:Wrapper.run"], "lives": [life]}, "kernels"
    )
    assert not findings({"kernels/__init__.py": program}, own_profiles=(profile,))


@pytest.mark.parametrize(
    ("life", "said"),
    [
        ({"class": "a:B"}, "needs `class` and `between`"),
        ({"class": "a:B", "between": "plan", "given": []}, "needs `class` and `between`"),
        ({"class": "a b", "between": "plan"}, "is not of the form"),
        ({"class": "a:B", "between": "plan", "fill": []}, "did you mean `filled`"),
        ({"class": "a:B", "between": "plan", "given": {"x": []}}, "boolean, number or string"),
        ({"class": "a:B", "between": "plan", "filled": "x"}, "must be a list of strings"),
    ],
)
def test_what_is_wrong_with_a_life_is_said(life: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config_from({"profile": {"mine": {"lives": [life]}}}, Path("pyproject.toml"))
