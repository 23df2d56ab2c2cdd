"""CG802: gradients that a captured backward fills are dropped, and the eager optimizer finds none."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis import settled
from graphlint.analysis.certainty import Certainty
from graphlint.analysis.events import Called, CaptureEnded, Replay
from graphlint.analysis.graphs import Capture
from graphlint.analysis.values import Storage, Tensor, is_none
from graphlint.facts import nodes as ast
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "drop gradients before the capture only; afterwards use `zero_grad(set_to_none=False)` or nothing"
HELP_EXCHANGED = "make gradients once, before the capture, and set them to zero in place afterwards"

HELP_MOVED = "change gradients in place, for example `p.grad.div_(n)`"


class GradientsDropped(Rule):
    code = "CG802"
    name = "gradients-dropped"
    hazard = "stale-pointer"
    level = Level.ERROR
    summary = "gradients that a captured backward fills are dropped, and the eager optimizer finds none"
    rows = ("J02",)
    subscribes = (Called, CaptureEnded, Replay)

    def __init__(self) -> None:
        self._trained: dict[int, tuple[Capture, set[Storage]]] = {}
        self._stepped: set[int] = set()
        self._drops: list[tuple[Called, set[Storage]]] = []
        self._given: dict[Storage, Called] = {}  # by parameter: where it was given the gradient that it has
        self._moved: list[Called] = []  # a gradient given to a parameter in place of the one computed from
        self._filled: dict[int, dict[Storage, Storage]] = {}  # by capture: gradients that it found

    def on(self, event: Called | CaptureEnded | Replay) -> Iterator[Report]:
        if isinstance(event, Replay):
            yield from self._judge(event)
        elif isinstance(event, CaptureEnded):
            if id(event.capture) in self._trained:
                self._drops.clear()  # this capture made gradients of its own
                self._moved.clear()
        elif event.capture is not None:
            self._note_captured(event, event.capture)
        else:
            self._note_eager(event)

    def _note_captured(self, event: Called, capture: Capture) -> None:
        if event.what == "backward" and event.data != "torch.autograd.grad":
            _, known = self._trained.setdefault(id(capture), (capture, set()))
            known |= _storages(event)
            found = self._filled.setdefault(id(capture), {})
            found.update({owner: _gradient(given) for owner, given in self._given.items() if owner in known})
        elif event.what == "optimizer-step":
            self._stepped.add(id(capture))

        elif event.what == "zero-grad" and event.data is True:
            self._forget(_storages(event))

    def _note_eager(self, event: Called) -> None:
        if event.what == "zero-grad" and event.data is True:
            self._drops.append((event, _storages(event)))
            self._forget(_storages(event))
        elif event.what == "set-grad" and isinstance(event.arguments[0], Tensor):
            self._drops.clear()  # the program puts gradients back by hand
            if isinstance(event.target, Tensor):
                self._given[event.target.storage] = event
                self._note_moved(event, event.target.storage)
        elif event.what == "set-grad" and _sets_none(event):
            owner = {event.target.storage} if isinstance(event.target, Tensor) else set()
            self._drops.append((event, owner))
            self._forget(owner)

    def _note_moved(self, event: Called, owner: Storage) -> None:
        others = [
            each
            for each in self._moved
            if isinstance(each.target, Tensor) and each.target.storage is not owner
        ]
        self._moved = [*others, event] if _is_computed_from_itself(event.place.node) else others

    def _forget(self, owners: set[Storage]) -> None:
        """Parameters, or those of something unknown, have no gradient any more."""
        for owner in owners or set(self._given):
            self._given.pop(owner, None)

    def _judge(self, event: Replay) -> Iterator[Report]:
        recorded = event.recorded
        if id(recorded) not in self._trained or id(recorded) in self._stepped:
            return
        trained = self._trained[id(recorded)][1]
        for drop, storages in self._drops:
            sure = drop.certainty or Certainty()
            if trained and storages and not trained & storages:
                continue
            if settled.excludes(recorded, drop.way, event.settled):
                continue  # the arm of a program that captures nothing, or replays nothing
            confidence = Confidence.DEFINITE if trained & storages else Confidence.LIKELY
            message = "the gradients that the graph fills are dropped here, and replays do not set `.grad`"
            weaker = max(confidence, sure.confidence, key=list(Confidence).index)
            chain = (recorded.place.hop, drop.place.hop, event.place.hop)
            yield Report(drop.place, message, weaker, sure.level, chain=chain, help=HELP)
        yield from self._exchanged(event)
        yield from self._recomputed(event, trained)

    def _exchanged(self, event: Replay) -> Iterator[Report]:
        """Parameters that had a gradient when the graph was captured, and have another that is younger."""
        for owner, found in self._filled[id(event.recorded)].items():
            given = self._given.get(owner)
            made = _gradient(given) if given is not None else found
            if given is not None and made is not found and made.serial > event.recorded.facts["born"]:
                message = "this puts a new gradient in place of the one that the graph fills"
                chain = (event.recorded.place.hop, given.place.hop, event.place.hop)
                yield Report(given.place, message, Confidence.LIKELY, chain=chain, help=HELP_EXCHANGED)

    def _recomputed(self, event: Replay, trained: set[Storage]) -> Iterator[Report]:
        """`p.grad = p.grad / n`: the next replay fills what had that name at the capture."""
        for given in self._moved:
            if isinstance(given.target, Tensor) and given.target.storage in trained:
                message = "`.grad` names a new tensor from here on, and replays fill the one before"
                chain = (event.recorded.place.hop, given.place.hop, event.place.hop)
                yield Report(given.place, message, Confidence.LIKELY, chain=chain, help=HELP_MOVED)


def _storages(event: Called) -> set[Storage]:
    return {value.storage for value in event.arguments if isinstance(value, Tensor)}


def _gradient(given: Called) -> Storage:
    """The memory of the gradient that a parameter is given."""
    gradient = given.arguments[0]
    assert isinstance(gradient, Tensor)
    return gradient.storage


def _sets_none(event: Called) -> bool:
    return is_none(event.arguments[0])


def _is_computed_from_itself(node: ast.AST) -> bool:
    """Whether an assignment computes the new value from what has the same name: `p.grad = p.grad / n`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
        return False
    name = ast.dump(node.targets[0].value)
    read = (part for part in ast.walk(node.value) if isinstance(part, ast.Attribute))
    return any(part.attr == node.targets[0].attr and ast.dump(part.value) == name for part in read)
