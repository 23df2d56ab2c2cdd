"""CG803: a backward pass is captured while `.grad` exists, so that every replay adds to it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, Replay
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Const, Storage, Tensor
from graphlint.finding import Confidence, Hop, Level
from graphlint.rules.rule import Report, Rule

HELP = "call `zero_grad(set_to_none=True)` right before the capture, or clear the gradients inside it"


class GradientAccumulates(Rule):
    code = "CG803"
    name = "gradient-accumulates"
    hazard = "training"
    level = Level.WARNING
    summary = "a backward pass is captured while `.grad` exists, so that every replay adds to it"
    rows = ("J03",)
    subscribes = (Called, Replay)

    def __init__(self) -> None:
        self._present: Place | None = None
        self._cleared_in: set[int] = set()
        self._adding: dict[int, tuple[Capture, Place, tuple[Hop, ...]]] = {}
        self._replayed: set[int] = set()
        self._given: set[Storage] = set()  # memory that the program has set as gradients

    def on(self, event: Called | Replay) -> Iterator[Report]:
        if isinstance(event, Replay):
            self._replayed.add(id(event.recorded))
        elif event.capture is not None:
            self._note_captured(event, event.capture)
        else:
            self._note_eager(event)
        return iter(())

    def _note_captured(self, event: Called, capture: Capture) -> None:
        if event.what in ("zero-grad", "set-grad") or self._writes_gradient(event):
            self._cleared_in.add(id(capture))
            self._adding.pop(id(capture), None)  # at the end of each replay, for the next one
        elif self._present is None or id(capture) in self._cleared_in:
            return
        elif event.what == "backward" and event.data != "torch.autograd.grad":
            self._adding.setdefault(id(capture), (capture, event.place, event.chain))

    def _note_eager(self, event: Called) -> None:
        if event.what == "backward" and event.data != "torch.autograd.grad":
            self._present = event.place
        elif event.what == "zero-grad":
            self._adding.clear()
            self._present = None if event.data is not False else self._present
        elif event.what == "set-grad":
            self._adding.clear()
            if isinstance(event.arguments[0], Const):
                self._present = None
            self._given.update(tensor.storage for tensor in tensors_in(event.arguments[0], 0))
        elif self._writes_gradient(event):
            self._adding.clear()

    def _writes_gradient(self, event: Called) -> bool:
        """Whether a tensor is written in place that is the gradient of something."""
        if event.what != "tensor-write" or not isinstance(event.target, Tensor):
            return False
        storage = event.target.storage
        return storage.owner == "gradient" or storage in self._given

    def at_end(self) -> Iterator[Report]:
        """Nothing cleared the gradients between the replays either."""
        for key, (_, place, chain) in self._adding.items():
            if key in self._replayed:
                message = "gradients exist when this backward pass is captured, so every replay adds to them"
                yield Report(place, message, Confidence.LIKELY, chain=chain, help=HELP)
