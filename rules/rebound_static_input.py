"""CG101: a tensor that a graph reads is rebound instead of written between replays."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Displaced, InputDerived, InputIgnored, Replay, StateLeft
from graphlint.analysis.graphs import Changed
from graphlint.analysis.parts import tensors_in
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import is_parameter

HELP = "write into the captured tensor: `copy_`, `fill_` or `[...] =`"
HELP_DERIVED = "empty it before the capture, which then records how it is computed, or fill it before replays"
HELP_WEIGHTS = "compute it again after each load, and `copy_` the result into the tensor that the graph reads"
HELP_IGNORED = "capture with a tensor of its own, and `copy_` the argument into it before each replay"
HELP_ORPHANED = "allocate once for the largest size, or keep the inputs of every graph beside it"


class ReboundStaticInput(Rule):
    code = "CG101"
    name = "rebound-static-input"
    hazard = "rebind-static-input"
    level = Level.ERROR
    summary = "a tensor that a graph reads is rebound instead of written between replays"
    rows = ("A01", "A03", "A10", "A11", "A12", "B06")
    subscribes = (Replay, Displaced, StateLeft, InputIgnored, InputDerived)

    def on(self, event: Replay | Displaced | StateLeft | InputIgnored | InputDerived) -> Iterator[Report]:
        if isinstance(event, StateLeft):
            message = (
                f"`{event.name}` is bound to a new tensor here, but each replay starts from the one that it "
                "named at capture"
            )
            chain = (*event.chain, event.replayed.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
            return
        if isinstance(event, InputDerived):
            when = "here from weights that are loaded anew later, and replays read the old result"
            if not event.weights:
                when = "once here, before the capture, from inputs that are rewritten before each replay"
            message = f"`{event.name}` is computed {when}"
            chain = (event.place.hop, event.replayed.hop)
            help_ = HELP_WEIGHTS if event.weights else HELP_DERIVED
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=help_)
            return
        if isinstance(event, InputIgnored):
            message = f"this replays what was captured with the `{event.name}` of an earlier call"
            chain = (event.captured.hop, event.place.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP_IGNORED)
            return
        if isinstance(event, Displaced):
            now = "cleared" if event.cleared else "bound to another tensor"
            message = f"`{event.name}` is {now}, but replays fill the tensor that it named at capture"
            chain = (event.captured.hop, event.written.hop, event.place.hop)
            yield Report(event.written, message, chain=chain, help=HELP)
            return
        for changed in event.changed:
            if not is_parameter(changed.read.value):
                yield from self._report(event, changed)

    def _report(self, event: Replay, changed: Changed) -> Iterator[Report]:
        read = changed.read
        for write in changed.writes:
            what = "tensor" if any(tensors_in(read.value, 1)) else "object"
            whose = "the one" if what == "tensor" else "the tensors of the one"
            but = f"but the graph reads {whose} it was captured with"
            if changed.orphaned:
                but = f"and nothing holds {whose} that older graphs read"
            message = f"`{read.name}` is bound to another {what}, {but}"
            confidence = Confidence.DEFINITE if changed.certain else Confidence.LIKELY
            chain = (*read.chain, write.place.hop, event.place.hop)
            help_ = HELP_ORPHANED if changed.orphaned else HELP
            yield Report(write.place, message, confidence, chain=chain, help=help_)
