"""An eager run that was made just before a replay, and what the replay says to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.shadow import causes
from graphlint.sentinel.shadow.causes import Cause
from graphlint.sentinel.shadow.rerun import Made
from graphlint.sentinel.shadow.statements import NotRunnable
from graphlint.sentinel.trials.compare import Difference, difference, differing, distance, snapshot
from graphlint.sentinel.trials.settings import RandomNumbers
from graphlint.sentinel.trials.writes import Saved, typed, unwatched

if TYPE_CHECKING:
    from graphlint.sentinel.shadow.subject import Subject


@dataclass(frozen=True, slots=True)
class Verdict:
    """A replay that does not give what the same code gives when it runs now."""

    differences: tuple[Difference, ...]
    causes: tuple[Cause, ...]
    drew_on_host: bool
    replay: int


Pair = tuple[str, torch.Tensor, torch.Tensor]


class Eager:
    """Made before a replay; `judge` is called after it."""

    def __init__(
        self, subject: Subject, names: dict[str, Any], made: Made, numbers: RandomNumbers, replay: int
    ) -> None:
        self._subject, self._names, self._made, self._numbers = subject, names, made, numbers
        self._replay = replay

    @property
    def made(self) -> Made:
        """What the eager run made."""
        return self._made

    def judge(self) -> Verdict | None:
        """Compare; None when both agree, or differ only as two eager runs do. Raises NotRunnable."""
        replayed = self._replayed()
        pairs = list(self._pairs(self._made, replayed))
        if not any(differing(there, eager) for _, there, eager in pairs):
            return None
        with self._as_before_the_replay():
            again = self._subject.rerun(self._names, set())
            noise = {
                what: distance(self._made_as(what, eager), eager)
                for what, _, eager in self._pairs(again, replayed)
            }
            found = self._differences(self._made, replayed, noise)
            if not found:
                return None
            why = self._causes(replayed, noise, len(found))
        return Verdict(tuple(found), tuple(why), self._made.drew_on_host, self._replay)

    def _replayed(self) -> dict[Any, torch.Tensor]:
        """What the replay left, by the name of an output or the storage that was written."""
        left: dict[Any, torch.Tensor] = {
            what: snapshot(tensor) for what, tensor in self._subject.captured_outputs().items()
        }
        with unwatched():
            return left | {memory: saved.bytes.clone() for memory, (saved, _) in self._made.written.items()}

    def _pairs(self, made: Made, replayed: dict[Any, torch.Tensor]) -> Iterator[Pair]:
        for what, tensor in made.outputs.items():
            if what in replayed and replayed[what].shape == tensor.shape:
                yield f"`{what}`", replayed[what], tensor
        for memory, (saved, _) in self._made.written.items():
            written = made.written[memory][1] if memory in made.written else saved.before
            yield self._named(memory), typed(replayed[memory], saved), typed(written, saved)

    def _named(self, memory: int) -> str:
        names = self._made.names
        return f"`{names[memory]}`" if memory in names else "memory that it writes"

    def _made_as(self, what: str, default: torch.Tensor) -> torch.Tensor:
        return next(
            (eager for name, _, eager in self._pairs(self._made, self._empty()) if name == what), default
        )

    def _empty(self) -> dict[Any, torch.Tensor]:
        written = {memory: new for memory, (_, new) in self._made.written.items()}
        return {**self._made.outputs, **written}

    def _differences(
        self, made: Made, replayed: dict[Any, torch.Tensor], noise: dict[str, float]
    ) -> list[Difference]:
        found = [
            difference(what, there, eager, noise.get(what, 0.0))
            for what, there, eager in self._pairs(made, replayed)
        ]
        return [one for one in found if one is not None]

    def _causes(self, replayed: dict[Any, torch.Tensor], noise: dict[str, float], before: int) -> list[Cause]:
        def agree(back: set[str]) -> bool:
            try:
                made = self._subject.rerun(self._names, back)
            except NotRunnable:
                return False
            return not self._differences(made, replayed, noise)

        return causes.find(self._subject.changes(self._names), self._subject.own, agree)

    @contextmanager
    def _as_before_the_replay(self) -> Iterator[None]:
        """Let memory and generators stand where they stood, and put the replay's state back at the end."""
        after = RandomNumbers([])
        left = [(saved, saved.bytes.clone()) for saved in self._saved()]
        self._numbers.set_back()
        with unwatched():
            for saved, _ in left:
                saved.bytes.copy_(saved.before)
        try:
            yield
        finally:
            after.set_back()
            with unwatched():
                for saved, now in left:
                    saved.bytes.copy_(now)

    def _saved(self) -> list[Saved]:
        return [saved for saved, _ in self._made.written.values()]
