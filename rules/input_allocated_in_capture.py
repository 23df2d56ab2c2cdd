"""CG606: an input that is rewritten between replays was allocated inside the capture."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, Replay
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Obj, Storage, Tensor
from graphlint.facts import nodes as ast
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "allocate the input before the capture"


class InputAllocatedInCapture(Rule):
    code = "CG606"
    name = "input-allocated-in-capture"
    hazard = "alloc-in-capture"
    level = Level.ERROR
    summary = "an input that is rewritten between replays was allocated inside the capture"
    rows = ("G07",)
    subscribes = (Called, Replay)

    def __init__(self) -> None:
        self.filled: dict[Storage, Called] = {}

    def on(self, event: Called | Replay) -> Iterator[Report]:
        if isinstance(event, Called):
            if event.what == "tensor-write" and event.capture is None and _is_input(event):
                assert isinstance(event.target, Tensor)
                self.filled[event.target.storage] = event
            return
        carried = _carried(event)
        for storage, write in list(self.filled.items()):
            if storage.graph is event.graph and storage.site is not None and storage not in carried:
                del self.filled[storage]
                message = (
                    "this input is allocated inside the capture: the replay initialises it again, "
                    "or uses its memory for something else, after it has been filled"
                )
                chain = (storage.site.hop, write.place.hop, event.place.hop)
                yield Report(storage.site, message, Confidence.LIKELY, chain=chain, help=HELP)


def _carried(replay: Replay) -> set[Storage]:
    """Memory that captured code has put where it read its state: CG101 tells of that."""
    written = (write.value for write, _, _ in replay.recorded.carried.values()) if replay.recorded else ()
    return {tensor.storage for value in written for tensor in tensors_in(value, 0)}


def _is_input(event: Called) -> bool:
    """Whether eager code copies data into memory of a graph that captured code reads."""
    target, node = event.target, event.place.node
    if not isinstance(target, Tensor) or not isinstance(target.storage.graph, Obj):
        return False
    record = target.storage.graph.fields.get("record")
    read = record.facts.get("own-reads", ()) if record is not None else ()
    copies = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy_"
    from_data = bool(event.arguments) and not (
        isinstance(event.arguments[0], Tensor) and event.arguments[0].storage.graph is target.storage.graph
    )
    return from_data and target.storage in read and (copies or isinstance(node, ast.Assign))
