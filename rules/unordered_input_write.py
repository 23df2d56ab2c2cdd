"""CG105: an input is written on a stream that the replay does not wait for."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Race
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "let the stream of the replay wait: `stream.wait_stream(torch.cuda.current_stream())`, or an event"


class UnorderedInputWrite(Rule):
    code = "CG105"
    name = "unordered-input-write"
    hazard = "stream-escape"
    level = Level.ERROR
    summary = "an input is written on a stream that the replay does not wait for"
    rows = ("A08",)
    subscribes = (Race,)

    def on(self, event: Race) -> Iterator[Report]:
        if event.kind == "input":
            message = (
                "this writes an input of a graph on another stream than the replay, "
                "and the replay does not wait for it"
            )
            chain = (event.earlier.hop, event.place.hop)
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=HELP)
