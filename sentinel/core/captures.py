"""What goes wrong while a capture is open: calls that fail, and work that is not recorded."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, State
from graphlint.sentinel.findings import Finding, Stack

_SHAPES = frozenset(
    [
        "nonzero",
        "masked_select",
        "_unique",
        "_unique2",
        "unique_consecutive",
        "unique_dim",
        "index",
        "index_put",
        "index_put_",
        "repeat_interleave",
        "bincount",
    ]
)
_BY_TEXT = (
    ("not in capture mode", "CG503"),
    ("CUDAGeneratorImpl::", "CG505"),
    ("Cannot prepare for replay", "CG504"),
    ("NOT_INITIALIZED", "CG701"),
    ("ALLOCATION_FAILED", "CG701"),
    ("FIND was unable", "CG701"),
    ("legacy stream", "CG501"),
    ("uncaptured work in another stream", "CG507"),
    ("unless the CPU tensor is pinned", "CG306"),
)
_BY_OPERATION = {
    "repr": "CG304",
    "_local_scalar_dense": "CG302",
    "item": "CG302",
    "tolist": "CG303",
    "numpy": "CG303",
}


class CallsInCapture(Check):
    """Calls that a capture refuses, each at its line, also when the program swallows the error."""

    name = "calls-in-capture"
    subscribes = (events.CallFailed, events.CaptureClosed)

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._failed: dict[int, list[events.CallFailed]] = {}

    def on(self, event: events.Event) -> Iterator[Finding]:
        if isinstance(event, events.CallFailed):
            self._failed.setdefault(event.capture, []).append(event)
        elif isinstance(event, events.CaptureClosed):
            calls = self._failed.pop(event.capture, [])
            yield from self._judge(event, calls)

    def _judge(self, closed: events.CaptureClosed, calls: list[events.CallFailed]) -> Iterator[Finding]:
        """Calls that only fail because the capture is lost already say nothing new."""
        after = ". The random number generator cannot be used any more" if closed.stuck else ""
        for call in calls:
            swallowed = call.call not in closed.left and not call.other
            if not closed.graph and not call.lost and swallowed:
                continue
            yield self._finding(closed, call, swallowed, after if call.lost else "")
            if call.lost:
                return

    def _finding(
        self, closed: events.CaptureClosed, call: events.CallFailed, swallowed: bool, after: str
    ) -> Finding:
        code = "CG508" if swallowed and not call.lost else code_of(call)
        return Finding(
            code,
            f"{_told(call, swallowed)}{after}",
            closed.stack,
            call.stack,
            (),
            self.name,
            closed.graph,
            0,
        )


def _told(call: events.CallFailed, swallowed: bool) -> str:
    if call.other:
        return (
            f"{call.what} on another thread is not permitted while a capture is open, and the capture is lost"
        )
    if not call.lost and swallowed:
        return f"{call.what} fails while capturing and the error is swallowed: it is missing from the graph"
    lost = ", and the capture is lost" if call.lost else ""
    loud = "; the error is swallowed" if swallowed else ""
    return f"{call.what} is not permitted while capturing{lost}{loud}"


def code_of(call: events.CallFailed) -> str:
    """The rule for a call that a capture refuses."""
    if call.other:
        return "CG502"
    if call.formatting:
        return "CG304"
    for text, code in _BY_TEXT:
        if text in call.text:
            return code
    if call.operation in _SHAPES:
        return "CG305"
    return _BY_OPERATION.get(call.operation, "CG301")


class WorkInCapture(Check):
    """Work that goes to a stream which is not captured: it is done once, now, and not by the graph."""

    name = "work-in-capture"
    subscribes = (events.WorkEscaped, events.CaptureClosed)

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._escaped: dict[int, dict[Stack, tuple[str, Stack]]] = {}

    def on(self, event: events.Event) -> Iterator[Finding]:
        if isinstance(event, events.WorkEscaped):
            lines = self._escaped.setdefault(event.capture, {})
            lines.setdefault(event.stack[:1], (event.what, event.stack))
        elif isinstance(event, events.CaptureClosed):
            yield from self._judge(event, self._escaped.pop(event.capture, {}))

    def _judge(
        self, closed: events.CaptureClosed, escaped: dict[Stack, tuple[str, Stack]]
    ) -> Iterator[Finding]:
        for what, stack in escaped.values():
            message = f"{what} runs on a stream that is not captured: it is done once, and not by the graph"
            yield Finding("CG501", message, closed.stack, stack, (), self.name, closed.graph, 0)
