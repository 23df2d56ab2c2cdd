"""CG102: the storage of a weight is replaced while a graph still reads the old one."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Replay
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Changed
from graphlint.facts import nodes as ast
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import is_parameter

HELP = "copy the new values into the captured storage: `param.data.copy_(...)`"


class ReplacedWeight(Rule):
    code = "CG102"
    name = "replaced-weight"
    hazard = "stale-pointer"
    level = Level.ERROR
    summary = "the storage of a weight is replaced while a graph still reads the old one"
    rows = ("A09",)
    subscribes = (Replay,)

    def on(self, event: Replay) -> Iterator[Report]:
        for changed in event.changed:
            if is_parameter(changed.read.value):
                yield from self._rebound(changed)
        for read_at, place in event.replaced:
            message = f"{_what(place)} new storage, but the graph reads the captured one"
            yield Report(place, message, chain=(read_at.hop, place.hop), help=HELP)

    def _rebound(self, changed: Changed) -> Iterator[Report]:
        read = changed.read
        for write in changed.writes:
            message = f"`{read.name}` gets new storage, but the graph reads the captured one"
            confidence = Confidence.DEFINITE if changed.certain else Confidence.LIKELY
            yield Report(write.place, message, confidence, chain=(*read.chain, write.place.hop), help=HELP)


def _what(place: Place) -> str:
    """What replaces the storage, and of what, as the start of a sentence."""
    if isinstance(place.node, ast.Call):
        return f"`{place.at(place.node.func).text}(...)` gives the tensors"
    return "`.data =` gives the tensor"
