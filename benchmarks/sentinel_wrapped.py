"""What checks of wrapped runners cost: canaries in declared inputs, eager twins, the shadow of a replay.

`python benchmarks/sentinel_wrapped.py` on a GPU prints microseconds of a call that writes its inputs, replays
a decode step of a small Llama or tiny kernels, and waits for the result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.sentinel_cost import Step, decoder, tiny, watched


class Runner:
    """Copies new values into the inputs of a step and replays it."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.fresh = [torch.zeros_like(given) for given in step.inputs]

    def __call__(self) -> Any:
        for into, given in zip(self.step.inputs, self.fresh):
            into.copy_(given)
        self.step.graph.replay()
        return self.step.out

    def eagerly(self) -> Any:
        with torch.no_grad():
            return self.step.body()

    def inputs(self) -> dict[str, torch.Tensor]:
        return {f"input {at}": given for at, given in enumerate(self.step.inputs)}


def least(call: Callable[[], Any], times: int, wait: bool) -> float:
    """The least microseconds of a call in three rounds."""
    found = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(times):
            call()
            if wait:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - start) / times * 1e6)
    return min(found)


def measured(make: Callable[[], Step], wait: bool) -> list[float]:
    """Bare, canaries in declared inputs, with an eager twin, and with the shadow of each replay."""
    from graphlint.sentinel import wrap

    figures = []
    for mode, times in ((None, 200), ("canary", 200), ("watch", 4), ("test", 2)):
        step = make()
        with watched(mode):
            step.prepare()
            runner = Runner(step)
            declared: dict[str, Any] = {
                "canary": {"inputs": runner.inputs},
                "watch": {"eager": runner.eagerly},
            }
            call = runner if mode in (None, "test") else wrap(runner, **declared[mode])
            figures.append(least(call, times, wait))
    return figures


def main() -> None:
    print("| step | waits | bare | canary | eager twin | shadow |\n|---|---|---|---|---|---|")
    for name, make in (("decoder", decoder), ("50 kernels", tiny(50)), ("500 kernels", tiny(500))):
        for wait in (True, False):
            bare, *others = measured(make, wait)
            cells = " | ".join(f"{other:.0f} ({other / bare:.2f})" for other in others)
            print(f"| {name} | {wait} | {bare:.0f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
