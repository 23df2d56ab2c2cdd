"""`wrap(runner, eager=...)`: each call is compared with what its eager twin gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.shadow.rerun import Made, Plan, nothing, run
from graphlint.sentinel.shadow.statements import NotRunnable
from graphlint.sentinel.trials.compare import Difference, difference, distance, snapshot, tensors_in
from graphlint.sentinel.trials.judged import Judging
from graphlint.sentinel.trials.settings import Modes
from graphlint.sentinel.trials.writes import typed, unwatched
from graphlint.sentinel.watching.companions import aside

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer
    from graphlint.sentinel.wrapping import Call


class Twins(Judging):
    """Runs the twin before the call, undoes it, and compares the results and the memory that both wrote."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(observer)
        self._made: Made | None = None
        self._noise: dict[str, dict[str, float]] = {}  # of each runner: what two runs of its twin differ by

    def about_to_call(self, call: Call) -> None:
        self._made = None
        if call.eager is None:
            return
        try:
            with aside():
                self._made = _run(call)
                if call.name not in self._noise:
                    again = _run(call)
                    self._noise[call.name] = _noise(self._made, again)
        except NotRunnable as reason:
            self.observer.miss(f"twins: the eager twin of `{call.name}` is not run: {reason}")

    def has_returned(self, call: Call, result: Any) -> None:
        made, self._made = self._made, None
        if made is None:
            return
        with aside():
            found = list(self._differences(call, made, result))
        if found:
            first = found[0]
            message = f"{first.what} of `{call.name}` is not what its eager twin gives: {first.sentence()}"
            self.report("CG402", message, "twins", call)

    def _differences(self, call: Call, made: Made, result: Any) -> list[Difference]:
        noise = self._noise.get(call.name, {})
        there = _flat(result)
        found = [
            difference(what, snapshot(there[what]), eager, noise.get(what, 0.0))
            for what, eager in made.outputs.items()
            if what in there and there[what].shape == eager.shape
        ]
        for saved, written in made.written.values():
            with unwatched():
                now = saved.bytes.clone()
            what = "memory that is written in a call"
            found.append(difference(what, typed(now, saved), typed(written, saved), noise.get(what, 0.0)))
        return [one for one in found if one is not None]


def _run(call: Call) -> Made:
    names = {"eager": call.eager, "runner": call.runner, "args": call.args, "kwargs": call.kwargs}
    plan = Plan(lambda _: {"result": call.eagerly()}, Modes.now(), lambda made: _flat(made["result"]), None)
    return run(plan, names, nothing)


def _flat(result: Any) -> dict[str, torch.Tensor]:
    return dict(tensors_in("the result", result))


def _noise(first: Made, second: Made) -> dict[str, float]:
    return {
        what: distance(tensor, second.outputs[what])
        for what, tensor in first.outputs.items()
        if what in second.outputs
    }
