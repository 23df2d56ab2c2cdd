"""A root that is too large to be run to its end is said, not hidden."""

from __future__ import annotations

import pytest

from graphlint.analysis import units
from tests.programs import regions, summary, unresolved

PROGRAM = """
import torch

def capture(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
    for _ in range(60):
        x = x * 2 + y * 3
    return graph, x
"""


@pytest.mark.parametrize("steps", [8, 24])
def test_a_spent_budget_is_an_unresolved_entry(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "STEPS", steps)
    reasons = [each.reason for region in regions(PROGRAM) for each in region.unresolved]
    assert any("budget" in reason for reason in reasons)
    counted = summary(PROGRAM)
    assert (counted.unfinished, counted.unresolved_calls) == (1, 0)


def test_a_root_that_comes_to_its_end_has_none() -> None:
    assert [each for region in regions(PROGRAM) for each in region.unresolved] == []
    assert summary(PROGRAM).unfinished == 0


CHAIN = "import torch\n" + "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(60))
CHAIN += """
def f60(x):
    return x + 1

def capture(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        f0(x)
"""


def test_calls_that_nest_too_deeply_to_be_followed_are_said() -> None:
    assert len(unresolved(CHAIN)) == 1


def test_so_are_those_of_a_warm_up() -> None:
    warmed = CHAIN.replace("    graph =", "    f0(x)\n    graph =").replace(
        "        f0(x)", "        x.add_(1)"
    )
    assert {each.reason for region in regions(warmed) for each in region.unresolved} == {
        "calls are followed 48 deep, outside of captured code too"
    }


RECURSION = """
import torch

def shrink(x, times):
    return shrink(x * 2, times - 1) if times else x

def capture(x: torch.Tensor, times: int):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        shrink(x, times)
"""


def test_recursion_is_no_unresolved_call() -> None:
    assert unresolved(RECURSION) == set()
