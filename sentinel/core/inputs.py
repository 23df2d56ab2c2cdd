"""Whether what a graph reads from outside is still there, and still what the program means by its names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.sentinel.core import events
from graphlint.sentinel.core.machine import Check, Graph, State
from graphlint.sentinel.findings import Confidence, Finding


class InputsInPlace(Check):
    """At each replay: inputs that are freed, and names that lead somewhere else now.

    Not of compiled code: before a replay torch compares the addresses of what it is called with.
    """

    name = "inputs-in-place"
    subscribes = (
        events.CaptureEnded,
        events.MemoryFreed,
        events.NameMoved,
        events.Written,
        events.Replayed,
    )
    awake = False  # until something is freed or moves

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._written: set[int] = set()
        self._moved: dict[int, dict[int, list[events.NameMoved]]] = {}  # by graph and memory

    def on(self, event: events.Event) -> Iterable[Finding]:
        if isinstance(event, events.Replayed):
            graph = self.state.graphs[event.graph]
            return self._judge(graph) if (graph.freed or self._moved) and not graph.compiled else ()
        if isinstance(event, events.CaptureEnded):
            return self._cast(self.state.graphs[event.graph])
        self.awake = self.awake or isinstance(event, (events.NameMoved, events.MemoryFreed))
        if isinstance(event, events.NameMoved):
            self._moved.setdefault(event.graph, {}).setdefault(event.memory, []).append(event)
        elif isinstance(event, events.Written):
            self._written.add(event.memory)
        return ()

    def _judge(self, graph: Graph) -> Iterator[Finding]:
        moves = self._moved.pop(graph.number, {})
        freed, abandoned = self.state.freed, self.state.abandoned
        for memory in graph.freed | moves.keys():
            moved = moves.get(memory, [])
            dropped = next((move for move in moved if move.name.kind == "gradient"), None)
            if dropped is not None:
                yield from self._gradient(graph, memory, dropped)
            moved = [move for move in moved if move.name.kind != "gradient"]
            given = graph.inputs.get(memory)
            if given is None or (dropped is not None and not moved):
                continue
            if memory in freed and not given.pooled:
                yield self._freed_input(graph, given, moved)
            elif memory in freed and memory in abandoned:
                yield self._abandoned_input(graph, given, abandoned[memory])
            elif moved:
                yield from self._rebound(graph, given, moved)

    def _cast(self, graph: Graph) -> Iterator[Finding]:
        for given in graph.inputs.values():
            if given.cast:
                message = (
                    "the graph reads a weight that autocast cast before the capture and keeps in its cache: "
                    "later changes of the weight do not reach the graph, and autocast's end empties the cache"
                )
                yield self.finding("CG801", message, graph, captured=given.read, confidence="likely")

    def _gradient(self, graph: Graph, memory: int, move: events.NameMoved) -> Iterator[Finding]:
        """A gradient that the graph fills is not where an optimizer looks, unless the graph has its own."""
        owner = move.name.text.removesuffix(".grad")
        stepped = any(
            given.written and any(name.text == owner for name in given.names)
            for given in graph.inputs.values()
        )
        filled = memory in graph.outputs or graph.inputs[memory].written
        if graph.knows_writes and filled and not stepped:
            now = "None" if move.now == "nothing" else "another tensor"
            message = f"`{move.name.text}` is {now}, and the graph fills the gradient that it was at capture"
            yield self.finding("CG802", message, graph, confidence="likely")

    def _freed_input(self, graph: Graph, given: events.Input, moved: list[events.NameMoved]) -> Finding:
        elsewhere = [move for move in moved if move.now != "nothing"]
        confidence: Confidence = "definite" if given.sure else "likely"
        if elsewhere:
            move = _telling(elsewhere)
            message = f"{_now(move)}, and the memory that the graph reads is freed"
            return self._finding(graph, given, _code(move), message, confidence)
        message = f"nothing holds {given.shown} any more, and the graph reads its memory"
        return self._finding(graph, given, "CG103", message, confidence)

    def _abandoned_input(self, graph: Graph, given: events.Input, producer: Graph) -> Finding:
        """Memory of a pool may be let go while a graph fills it, but not after that."""
        message = (
            f"graph {producer.number}, which filled {given.shown}, is gone, "
            "nothing holds its memory any more, and this graph reads it"
        )
        confidence: Confidence = "definite" if given.sure else "likely"
        return self._finding(graph, given, "CG103", message, confidence)

    def _rebound(self, graph: Graph, given: events.Input, moved: list[events.NameMoved]) -> Iterator[Finding]:
        ignored = [move for move in moved if move.name.kind == "argument"]
        if ignored and given.memory not in self._written:
            message = f"this replays what was captured with the `{ignored[0].name.text}` of an earlier call"
            yield self._finding(graph, given, "CG101", message, "likely")
            return
        moved = [move for move in moved if move not in ignored]
        telling = [move for move in moved if move.now in ("alike", "swapped") and _tells(move)]
        if telling:
            move = _telling(telling)
            sure = move.now == "swapped" and given.sure
            message = f"{_now(move)}, but the graph reads the memory that it had at capture"
            yield self._finding(graph, given, _code(move), message, "definite" if sure else "likely")

    def _finding(
        self, graph: Graph, given: events.Input, code: str, message: str, confidence: Confidence
    ) -> Finding:
        touched = self.state.line(self.state.freed.get(given.memory, -1))
        return self.finding(code, message, graph, captured=given.read, touched=touched, confidence=confidence)


def _tells(move: events.NameMoved) -> bool:
    """Whether a name that moved says something although the input lives on."""
    return move.now == "swapped" or move.name.kind == "parameter" or not move.kept


def _telling(moves: list[events.NameMoved]) -> events.NameMoved:
    return min(moves, key=lambda move: (move.name.kind not in events.LASTING, len(move.name.text)))


def _now(move: events.NameMoved) -> str:
    if move.now == "swapped":
        return f"`{move.name.text}` has new memory"
    return f"`{move.name.text}` is bound to another tensor"


def _code(move: events.NameMoved) -> str:
    return "CG102" if move.name.kind == "parameter" else "CG101"
