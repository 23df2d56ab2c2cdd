"""CG503: captured code draws random numbers from a generator that the graph does not know."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Operation
from graphlint.analysis.values import NONE, Obj, Unknown, Value, alternatives
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import confidence_of, reached_by

HELP = "call `graph.register_generator_state(generator)` before the capture"


class UnregisteredGenerator(Rule):
    code = "CG503"
    name = "unregistered-generator"
    hazard = "rng-unregistered"
    level = Level.ERROR
    summary = "captured code draws random numbers from a generator that the graph does not know"
    rows = ("F01",)
    subscribes = (Operation,)

    def on(self, event: Operation) -> Iterator[Report]:
        generator = event.keywords.get("generator", NONE)
        if event.effect != "rng-state" or event.capture is None or event.capture.graph is None:
            return
        registered = event.capture.graph.fields.get("generators", set())
        for part in alternatives(generator):
            confidence = _confidence(part, event, registered)
            if confidence is not None:
                message = f"{reached_by(event)} draws from a generator that is not registered with the graph"
                yield Report(event.place, message, confidence, help=HELP)
                return


def _confidence(generator: Value, event: Operation, registered: set[int | None]) -> Confidence | None:
    """How sure it is that the graph misses the generator; None when it knows it, or it is on the CPU."""
    if isinstance(generator, Unknown):
        return None if None in registered else Confidence.LIKELY
    if not isinstance(generator, Obj) or generator.cls != "torch.Generator":
        return None
    if generator.serial in registered or generator.fields.get("type") == "cpu":
        return None
    if generator.fields.get("type") == "cuda":
        return Confidence.DEFINITE
    return confidence_of(event)
