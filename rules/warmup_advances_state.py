"""CG704: a warm-up on the way to the first replay moves on state that the program is using."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from graphlint.analysis.events import Advance, Called, CaptureStarted, Replay
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.values import Storage, Tensor
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import is_parameter

HELP = "save the state before the warm-up and copy it back, or warm up on copies"


@dataclass(slots=True)
class Recorded:
    """What a capture moves on: memory whose old value it uses before it has written it anew."""

    advanced: dict[Storage, Place] = field(default_factory=dict)
    reset: set[Storage] = field(default_factory=set)


class WarmupAdvancesState(Rule):
    code = "CG704"
    name = "warmup-advances-state"
    hazard = "side-effect"
    level = Level.WARNING
    summary = "a warm-up on the way to the first replay moves on state that the program is using"
    rows = ("I05",)
    subscribes = (CaptureStarted, Called, Replay)

    def __init__(self) -> None:
        self.eager: dict[Storage, dict[object, Called]] = {}  # by the places of the writes
        self.recorded: dict[int, Recorded] = {}

    def on(self, event: CaptureStarted | Called | Replay) -> Iterator[Report]:
        if isinstance(event, Replay):
            yield from self._first_replay(event)
        elif isinstance(event, CaptureStarted):
            if event.capture is not None and event.capture.lazy and event.capture.by_program:
                self.recorded[id(event.capture)] = Recorded()
        elif event.what == "tensor-write" and isinstance(event.target, Tensor):
            if not is_parameter(event.target):
                self._written(event, event.target.storage)
        elif event.what == "backward" and event.capture is not None:
            # Training steps learn from what they warm up with: that is how it is done.
            self.recorded.pop(id(event.capture), None)

    def _written(self, event: Called, storage: Storage) -> None:
        if event.capture is not None:
            record = self.recorded.get(id(event.capture))
            if record is not None and storage.graph is None and storage not in record.reset:
                if isinstance(event.data, Advance):
                    record.advanced.setdefault(storage, event.place)
                elif storage not in record.advanced:
                    record.reset.add(storage)
        elif isinstance(event.data, Advance):
            self.eager.setdefault(storage, {})[event.place.key] = event
        else:
            self.eager.pop(storage, None)  # written anew: what the warm-up did is gone

    def _first_replay(self, event: Replay) -> Iterator[Report]:
        record = self.recorded.pop(id(event.recorded), None)
        for storage, place in record.advanced.items() if record is not None else ():
            warm = self.eager.get(storage, {}).get(place.key)
            if warm is None or not _in_one_step(warm, event):
                continue
            message = (
                "this runs on live state before the first replay, and leaves it further on than one step"
            )
            where = _in_capturing_function(warm, event.recorded)
            chain = (where.hop, warm.place.hop, event.recorded.place.hop, event.place.hop)
            yield Report(where, message, Confidence.LIKELY, chain=chain, help=HELP)
            return


def _in_one_step(warm: Called, replay: Replay) -> bool:
    """Whether warm-up, capture and replay are one call of the program: nothing is set up in between."""
    assert isinstance(warm.data, Advance)
    return warm.data.step == replay.recorded.step == replay.step


def _in_capturing_function(warm: Called, capture: Capture) -> Place:
    """The call of the warm-up in the function that captures, else the write itself."""
    here = [warm.place, *reversed(warm.data.calls if isinstance(warm.data, Advance) else ())]
    same = (p for p in here if p.function == capture.place.function and p.module is capture.place.module)
    return next(same, warm.place)
