"""The measuring programs of `benchmarks/claim_programs.py` themselves: what those that need no more than torch saw."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tests.sentinel.scenarios import PROGRAMS, Order

# Two streams race; the one of this number was first on the GPU (number 1 warms up, 2 captures).
FIRST: dict[str, Order] = {
    "output_read_on_another_stream": 3,
    "replay_before_readers": "late",
    "same_graph_at_the_same_time": 4,
}
FOREIGN = (
    "cupy_",
    "driver_",
    "object_collectives",
    "autotuned_",
)  # what they import is not in the environment


def _left_as_it_was(program: Callable[[], Any]) -> Callable[[], Any]:
    """In measuring each had a process of its own, whose settings it did not put back."""

    @functools.wraps(program)
    def run() -> Any:
        collects, chooses = gc.isenabled(), torch.backends.cudnn.benchmark
        try:
            return program()
        finally:
            torch.backends.cudnn.benchmark = chooses
            if collects:
                gc.enable()

    return run


def _programs() -> dict[str, Callable[[], Any]]:
    folder = str(Path(__file__).parents[3] / "benchmarks")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found = vars(importlib.import_module("claim_programs"))
    return {name.removeprefix("shows_"): found[name] for name in found if name.startswith("shows_")}


for _name, _program in _programs().items():
    if not _name.startswith(FOREIGN):
        PROGRAMS[_name] = (_left_as_it_was(_program), FIRST.get(_name, "early"))
