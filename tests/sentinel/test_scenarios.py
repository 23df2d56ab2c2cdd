"""Scenarios measured on an H200 (torch 2.11): what came out there comes out here, for every one but those that
need the GPU itself. Agreements may only grow.
"""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

MEASURED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "measured" / "scenarios.json").read_text(encoding="utf-8")
)["single"]

# Not run, and why.
NOT_HERE = {
    "has_new_api": "it asks the driver for its version",
    "debug_nodes": "it reads the driver's kernel parameters",
    "triton_int_specialization": "a compiled kernel's specialisation; the interpreter has none",
    "triton_autotune_cold": "the time of a cold compilation; the interpreter compiles nothing",
    "autotuned_with_another_key": "Triton's choice by time; the interpreter chooses nothing",
    "cupy_capture_of_another_stream": "CuPy brings its own CUDA runtime",
    "cupy_frozen_number_and_rebound_input": "CuPy brings its own CUDA runtime",
    "driver_capture_of_another_stream": "cuda-bindings is the driver's own interface",
    "object_collectives": "NCCL needs a GPU",
}
# In the words of torch before 2.14, which instantiates a graph when it is replayed.
OLD_WORDS = {"replay_before_capture"}
# Run, and known to come out otherwise.
OTHERWISE = {
    "same_pool_at_the_same_time": "two replays overlap in the middle; a replay is one step here",
    "lazy_cache_of_capture": "memory that nothing wrote: zero there, NaN here",
    "collector_in_capture": "destroying a graph in a capture has no effect on the capture here",
    "compiled_once_before_backward": "a compiled backward pass is no graph here, so its gradients stay valid",
}


def _programs() -> dict[str, Any]:
    if importlib.util.find_spec("torch") is None:
        return {}
    from tests.sentinel.scenarios import PROGRAMS, claims, gradients, graphs, memory, streams

    assert claims and gradients and graphs and memory and streams
    return PROGRAMS


PROGRAMS = _programs()


def outcome(name: str) -> Any:
    """What a program returns, or its errors from the inside out as the measurement has them."""
    from graphlint.sentinel import virtual_cuda
    from tests.sentinel.scenarios import first_words

    function, order = PROGRAMS[name]
    with virtual_cuda(order=order, poison=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except Exception as error:
            return [first_words(found) for found in (error.__context__, error) if found is not None]


def alike(seen: Any, measured: Any) -> bool:
    """Equal, numbers nearly, errors by their first line."""
    if isinstance(measured, dict):
        return isinstance(seen, dict) and all(alike(seen.get(key), value) for key, value in measured.items())
    if isinstance(measured, list):
        return (
            isinstance(seen, list)
            and len(seen) == len(measured)
            and all(alike(one, other) for one, other in zip(seen, measured))
        )
    if isinstance(measured, float):
        return isinstance(seen, float) and abs(seen - measured) < 1e-4
    if isinstance(measured, str) and isinstance(seen, str):
        told = measured.split(" / ")[0].split(" (Triggered")[0].split(" Stack trace")[0]
        return seen.startswith(told.removesuffix(" …"))
    return bool(seen == measured)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_scenario(name: str) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU on this machine")
    if name in OLD_WORDS and torch.__version__ >= "2.14":
        pytest.skip("measured with an older torch, which has other words")
    seen = outcome(name)
    if name in OTHERWISE:
        assert not alike(seen, MEASURED[name]), "it agrees now: take it off the list"
    else:
        assert alike(seen, MEASURED[name]), (seen, MEASURED[name])


def test_every_scenario_is_run_or_has_a_reason() -> None:
    pytest.importorskip("torch")
    assert set(PROGRAMS) | set(NOT_HERE) == set(MEASURED)
    assert not set(PROGRAMS) & set(NOT_HERE)
    assert set(OTHERWISE) <= set(PROGRAMS)
