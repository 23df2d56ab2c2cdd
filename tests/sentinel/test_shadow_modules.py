"""Captures that stand in a module's own code, where the names that the body assigns are globals."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from tests.sentinel.watching import codes, messages

_PROGRAM = """
import torch

class Holder: pass

config = {"bias": True}
given, holder, box = torch.ones(4, device="cuda"), Holder(), {}
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = given * 2
    if config["bias"]:
        out = out + 1
    holder.out, box["out"] = out * 2, {"parts": [out + 3]}
    fresh = Holder()
    fresh.inner = Holder()
    fresh.inner.out = given + 5
for value in range(3):
    given.fill_(value)
    graph.replay()
"""


def run(folder: Path, text: str) -> None:
    path = folder / "program.py"
    path.write_text(text)
    runpy.run_path(str(path), run_name="__main__")


def test_the_results_of_the_second_run_are_its_own(tested: Any, tmp_path: Path) -> None:
    run(tmp_path, _PROGRAM)
    assert tested.findings == []


def test_a_flag_changes(tested: Any, tmp_path: Path) -> None:
    run(tmp_path, _PROGRAM + "config['bias'] = False\ngraph.replay()\n")
    assert codes(tested) == ["CG402"]
    assert messages(tested).endswith("`config['bias']` was True at the capture and is False now")


def test_a_graph_is_gone_when_the_program_lets_it_go(tested: Any, tmp_path: Path) -> None:
    forget = "import gc, weakref\ngone = weakref.ref(graph)\ndel graph\ngc.collect()\nassert gone() is None\n"
    run(tmp_path, _PROGRAM + forget)
    assert tested.findings == []
