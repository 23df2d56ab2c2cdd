"""CG106: captured code exchanges two buffers, and the graph does not."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, CaptureEnded, Replay
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.swaps import Exchange, exchanges
from graphlint.analysis.values import Storage, Tensor
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "record an even number of exchanges, or copy the result back at the end of the capture"


class SwappedInCapture(Rule):
    code = "CG106"
    name = "swapped-in-capture"
    hazard = "rebind-static-input"
    level = Level.ERROR
    summary = "captured code exchanges two buffers an odd number of times"
    rows = ("A01", "D06")
    subscribes = (CaptureEnded, Replay, Called)

    def __init__(self) -> None:
        self.exchanged: dict[int, list[Exchange]] = {}
        self.refilled: set[Storage] = set()
        self.copied: set[tuple[Storage, Storage]] = set()  # from, to
        self.last: Capture | None = None

    def on(self, event: CaptureEnded | Replay | Called) -> Iterator[Report]:
        capture = event.capture
        if isinstance(event, Called):
            if event.what == "tensor-write" and isinstance(event.target, Tensor):
                self._written(event, event.target)
        elif isinstance(event, CaptureEnded) and capture is not None:
            self.exchanged[id(capture)] = list(exchanges(capture))
            self.refilled = set()
        elif isinstance(event, Replay):
            if self.last is event.recorded:
                yield from self._again(event)
            self.last = event.recorded

    def _written(self, event: Called, target: Tensor) -> None:
        """Buffers that eager code fills are inputs; one that captured code copies goes on there."""
        if event.capture is None:
            self.refilled.add(target.storage)
        else:
            sources = (tensor.storage for value in event.arguments for tensor in tensors_in(value))
            self.copied |= {(source, target.storage) for source in sources}

    def _again(self, event: Replay) -> Iterator[Report]:
        """The same graph a second time in a row: what the first one made is not what this one reads."""
        for exchange in self.exchanged.get(id(event.recorded), ()):
            own = exchange.storages
            goes_on = any(source in own and target not in own for source, target in self.copied)
            if own & self.refilled or goes_on or _is_rebound(event, exchange):
                continue
            message = (
                "the exchange of these buffers happens once, in Python: "
                "every replay reads the one that the capture began with"
            )
            yield Report(
                exchange.place,
                message,
                Confidence.LIKELY,
                chain=(*exchange.chain, event.place.hop),
                help=HELP,
            )


def _is_rebound(event: Replay, exchange: Exchange) -> bool:
    """Whether eager code has given one of the names other memory: CG101 tells of that."""
    cells = set(exchange.cells)
    return any((id(changed.read.fields), changed.read.key) in cells for changed in event.changed)
