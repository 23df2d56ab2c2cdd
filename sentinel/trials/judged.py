"""What calls of wrapped runners have in common for the checks that look at them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.findings import Confidence, Finding
from graphlint.sentinel.hoststate.living import living
from graphlint.sentinel.hoststate.undoing import Undo
from graphlint.sentinel.hoststate.walk import Walk
from graphlint.sentinel.trials.settings import RandomNumbers
from graphlint.sentinel.trials.writes import Saved, logged_writes, whole
from graphlint.sentinel.watching import places
from graphlint.sentinel.watching.companions import Companion, aside, is_aside
from graphlint.sentinel.wrapping import judges

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer
    from graphlint.sentinel.wrapping import Call


class Judging(Companion):
    """A companion that also judges calls of wrapped runners; `graphs` are those that a call has replayed."""

    only_in_calls = True

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        judges.append(self)
        self.call: Call | None = None
        self.graphs: list[int] = []

    def before(self, call: Call) -> None:
        """A call is about to be made."""
        if is_aside():
            return
        self.call, self.graphs = call, []
        self.observer.called = call
        self.about_to_call(call)

    def after(self, call: Call, result: Any) -> None:
        """It has returned."""
        if is_aside() or self.call is not call:
            return
        try:
            self.has_returned(call, result)
        finally:
            self.call = self.observer.called = None

    def failed(self, call: Call) -> None:
        """It has raised an error."""
        if self.call is call:
            self.call = self.observer.called = None
            self.has_failed()

    def replaying(self, graph: Any, number: int) -> None:
        if self.call is None or is_aside():
            return
        if not self.graphs:
            self.first_replay(self.call)
        self.graphs.append(number)

    def finish(self) -> None:
        judges.remove(self)

    def about_to_call(self, call: Call) -> None:
        """Prepare."""

    def first_replay(self, call: Call) -> None:
        """The runner has done what it does before its graph is replayed."""

    def has_failed(self) -> None:
        """Put back what was changed."""

    def has_returned(self, call: Call, result: Any) -> None:
        """Judge."""

    def report(
        self, code: str, message: str, check: str, call: Call, confidence: Confidence = "definite"
    ) -> None:
        """A finding about a call, at the place where it is made."""
        number = self.graphs[0] if self.graphs else 0
        graph = self.observer.machine.state.graphs.get(number)
        stack = graph.stack if graph is not None else ()
        replay = graph.replays if graph is not None else 0
        self.observer.report(
            Finding(code, message, stack, (), places.here(), check, number, replay, "error", confidence)
        )


@contextmanager
def trial(observer: Observer, numbers: list[int], roots: dict[str, Any]) -> Iterator[None]:
    """Whatever the block does is undone, the writes of these graphs included."""
    walk = Walk(roots)
    undo, random = Undo(walk), RandomNumbers(walk.generators)
    saved = [Saved(tensor) for tensor in _memory_of(observer, numbers)]
    with aside(), logged_writes() as log:
        try:
            yield
        finally:
            log.put_back()
            for one in saved:
                one.put_back()
            random.set_back()
            undo.put_back()


def _memory_of(observer: Observer, numbers: list[int]) -> list[torch.Tensor]:
    """Tensors over all that the graphs may write: inputs, outputs."""
    found = {}
    for number in numbers:
        for memory in observer.memories_of(number):
            storage = living(memory.reference)
            if storage is not None and storage.nbytes():
                found[memory.number] = whole(storage)
    return list(found.values())
