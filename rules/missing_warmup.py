"""CG701: what a capture records has never run before the capture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphlint.analysis.certainty import Certainty
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import External, Obj, Unknown, Value
from graphlint.facts import nodes as ast
from graphlint.finding import Confidence, Hop, Level
from graphlint.rules import operations
from graphlint.rules.rule import Report, Rule

COMMUNICATOR: frozenset[object] = frozenset({"NCCL"})
HELP = "run the same callable a few times on a side stream before the capture"


@dataclass(frozen=True, slots=True)
class Need:
    """Something that has to run once before a capture: a library, or a callable whose code is not known.

    It is met when something with one of its `keys` has run.
    """

    keys: frozenset[object]
    what: str
    known: bool = True
    confidence: Confidence = Confidence.LIKELY
    library: bool = True


@dataclass(frozen=True, slots=True)
class Cold:
    """A need that nothing had met when a capture came to it."""

    need: Need
    region: Place
    chain: tuple[Hop, ...]
    confidence: Confidence
    level: Level


class MissingWarmup(Rule):
    code = "CG701"
    name = "missing-warmup"
    hazard = "missing-warmup"
    level = Level.ERROR
    summary = "what a capture records has never run before the capture"
    rows = ("I01",)
    subscribes = (Called,)

    def __init__(self) -> None:
        self.met: set[object] = set(COMMUNICATOR)  # unless the program makes a group that has none yet
        self.cold: list[Cold] = []

    def on(self, event: Called) -> Iterator[Report]:
        if event.what == "group-made":
            self.met = self.met - COMMUNICATOR if event.data else self.met | COMMUNICATOR
            return
        need = _need_of(event)
        capture = event.capture
        on_device = _on_device(event.arguments)
        if need is None or on_device is False:
            return
        on_device = on_device or not need.library
        if capture is None or capture.facts.get("warmed"):
            # What is declared to be captured, or graphed by `make_graphed_callables`, has run before, too.
            # Code that is not known may use any library.
            self.met |= need.keys if need.known else {*need.keys, "any library"}
        elif on_device and _warms_nothing(capture) and not self._is_met(need):
            certainty = event.certainty or Certainty()
            if capture.facts.get("part"):  # what makes its instances may warm up, and is judged itself
                certainty = replace(certainty, confidence=Confidence.POSSIBLE)
            self.cold.append(Cold(need, capture.place, event.chain, certainty.confidence, certainty.level))
        return
        yield

    def _is_met(self, need: Need) -> bool:
        by_others = need.known and need.library and "any library" in self.met
        return by_others or not need.keys.isdisjoint(self.met)

    def at_end(self) -> Iterator[Report]:
        """What runs eagerly later may, for another caller, have run before: only the rest is reported."""
        reported: set[object] = set()
        for cold in sorted(self.cold, key=_doubt):
            if self._is_met(cold.need) or cold.region.key in reported:
                continue
            reported.add(cold.region.key)
            message = f"{cold.need.what} before this capture, which records its first run"
            level = cold.level if cold.need.known else Level.WARNING
            confidence = Confidence.POSSIBLE if _doubt(cold) else Confidence.LIKELY
            yield Report(cold.region, message, confidence, level, cold.chain, HELP)


def _doubt(cold: Cold) -> bool:
    return Confidence.POSSIBLE in (cold.confidence, cold.need.confidence)


def _warms_nothing(capture: Capture) -> bool:
    """Whether the region is one that records right away, unlike those that first run what they record."""
    return not capture.compiled and not capture.facts.get("warmed") and not capture.kind.startswith("warp")


def _need_of(event: Called) -> Need | None:
    target = event.target
    if event.what == "library" and isinstance(target, External):
        return _library(target.name)
    if event.what == "module" and isinstance(target, Obj) and isinstance(target.cls, str):
        if target.cls == "torch.nn.Module":
            return _callable(event, target.serial)
        last = target.cls.rpartition(".")[2]
        found = _by_beginning("library_of_module", last)
        return _use_of(found) if found is not None else None
    if event.what == "compiled" and isinstance(target, Obj) and _in_first_run(event):
        return Need(frozenset({target.serial}), f"`{_text(event)}` has never been called", False)
    if event.what in ("optimizer-step", "optimizer-state") and isinstance(target, Obj):
        return _optimizer(target)
    if event.what == "ddp":
        return Need(COMMUNICATOR, "")
    if event.what == "opaque" and isinstance(target, Unknown):
        return _callable(event, target.serial)
    return None


def _optimizer(target: Obj) -> Need | None:
    """The first step makes the moments: recorded, they are made anew, as zeros, by every replay."""
    if "?state" not in target.fields:
        return None
    made = target.site.key if target.site is not None else target.serial
    return Need(frozenset({made}), "the optimizer has never stepped", library=False)


def _in_first_run(event: Called) -> bool:
    """Whether a capture runs a function for the first time; CG702 judges the rest of compiled calls."""
    return event.capture is None or any(hop in event.capture.first_runs for hop in event.chain)


def _library(name: str) -> Need | None:
    if name.startswith("torch.distributed."):
        return Need(COMMUNICATOR, "no collective has made the communicator", library=False)
    owner, _, last = name.rpartition(".")
    by_name = _by_beginning("library_of_function", last)
    return _use_of(by_name or operations.mapped("library_of_namespace").get(owner, "cuBLAS"))


def _by_beginning(key: str, name: str) -> str | None:
    """What a map of the tables says of the names that begin like this one."""
    return next((said for start, said in operations.mapped(key).items() if name.startswith(start)), None)


def _use_of(library: str) -> Need:
    return Need(frozenset({library}), f"nothing has used {library}")


def _callable(event: Called, serial: int) -> Need:
    """A callable whose code is not known, by its identity and by how the program calls it."""
    text = _text(event)
    # A model that a constructor was given is one thing; what a caller passes in it may have run before.
    target = event.target
    held = not isinstance(target, Unknown) or (target.reason.startswith("argument") and "." in text)
    confidence = Confidence.LIKELY if held else Confidence.POSSIBLE
    return Need(frozenset({serial, text}), f"`{text}` has never been called", False, confidence)


def _text(event: Called) -> str:
    """The callee as the program writes it."""
    node = event.place.node
    return event.place.at(node.func).text if isinstance(node, ast.Call) else "it"


def _on_device(arguments: tuple[Value, ...]) -> bool | None:
    """Whether tensors on the device are among the arguments; None when no tensor is known."""
    found = [tensor for value in arguments for tensor in tensors_in(value, 2)]
    return any(tensor.on_device for tensor in found) if found else None
