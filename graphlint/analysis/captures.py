"""Starting and ending captures: the life of a graph on abstract values, until it is replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    effects,
    gradients,
    graph_keys,
    last_captures,
    parallel,
    renewals,
    streams,
    timeline,
)
from graphlint.analysis.events import (
    CaptureEnded,
    CaptureStarted,
)
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import (
    Capture,
)
from graphlint.analysis.libraries import autograd
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    Obj,
    Unknown,
    Value,
    alternatives,
    now,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


# The kind of what a comment, the configuration or a profile declares to be captured.
DECLARED = "declared"


def own(m: Machine) -> int:
    """How many graphs the program itself has captured so far: what is declared, it never replays."""
    return sum(capture.kind != DECLARED for capture in m.finished)


def start(
    m: Machine,
    kind: str,
    place: Place,
    graph: Obj,
    *,
    stream: Obj | None = None,
    pool: Value | None = None,
    mode: str = "global",
    compiled: bool = False,
    told: bool = True,
) -> Capture:
    """Open a capture on `stream` (the one that all captures without a stream share when None)."""
    m.clock += 1
    capture = Capture(kind, place, m.chain(place)[:-1] if m.captures else (), graph)
    capture.stream = stream or m.capture_stream
    capture.loops = tuple((loop, loop.iteration) for frame in m.frames for loop in frame.loops)
    capture.pool, capture.mode, capture.compiled = pool, mode, compiled
    capture.depth, capture.clock, capture.step = len(m.frames) - 1, m.clock, m.step
    capture.serial = now()
    capture.facts["conditions"] = len(m.frame.conditions)
    capture.facts["outer"] = m.captures[-1] if m.captures else None
    capture.facts["contexts"] = tuple(m.contexts)
    capture.facts["gradients"] = gradients.enabled(m)
    capture.facts["frames"] = tuple(m.frames)
    capture.facts["thread"] = m.running[-1] if m.running else None
    capture.facts["threads"] = tuple(parallel.others_running(m))
    capture.facts["loaders"] = tuple(parallel.pinning_loaders(m))
    capture.facts["locks"] = parallel.held_locks(m)
    parallel.note_cuda_call(m)
    timeline.started(m)
    capture.keys = graph_keys.deciding(m)
    renewals.note_tests(m, capture)
    capture.facts["began"] = m.steps
    capture.facts["script"] = m.script
    capture.facts["part"] = m.is_part
    capture.lazy = any(frame.conditions for frame in m.frames)
    capture.facts["anomaly"] = autograd.detects_anomalies(m)
    capture.facts["repetitions"] = m.repetitions()
    capture.facts["born"] = Unknown("values made from here on are the capture's own").serial
    if told:
        m.emit(CaptureStarted(place=place, capture=capture))
    m.captures.append(capture)
    m.has_graphs = True
    m.budget.captured = m.steps
    m.streams.append(capture.stream)
    return capture


def end(m: Machine, place: Place, *, told: bool = True) -> Capture | None:
    """Close the innermost capture; its graph can be replayed from now on."""
    if not m.captures:
        return None
    streams.end(m, m.captures[-1])
    capture = m.captures.pop()
    if m.streams:
        m.streams.pop()
    capture.ended = True
    capture.facts["ended"] = m.steps
    m.clock += 1
    capture.clock = m.clock
    assert capture.graph is not None
    graph = capture.graph
    m.heap.write(graph.fields, "record", capture)
    if any(other.place.node is capture.place.node for other in m.finished):
        m.budget.forgive(m.steps - capture.facts["began"])
    m.finished.append(capture)
    effects.remember(m, capture)
    last_captures.remember(m, capture)
    if not capture.compiled:
        _remember_filled(m, capture)
    if told:
        m.emit(CaptureEnded(place=place, capture=capture))
    return capture


def end_to_graph(m: Machine, place: Place) -> Value:
    """Close the innermost capture in a way that gives its graph."""
    record = end(m, place)
    return record.graph if record is not None and record.graph is not None else Unknown("graph")


class Alternatives:
    """Keeps apart what alternatives open: only one of them happens, so that one end closes it.

    A capture that one alternative ended is taken to be ended for those after it as well.
    """

    def __init__(self, m: Machine) -> None:
        self._m = m
        self._before = list(m.captures), list(m.streams)
        self._chosen: tuple[list[Capture], list[Obj]] | None = None
        self._chosen_goes_on = False

    def next(self, goes_on: bool = True) -> None:
        """An alternative is through: undo what it opened, unless nothing is open that was not before."""
        m, (captures, streams) = self._m, self._before
        if len(m.captures) <= len(captures):
            return
        if self._chosen is None or (goes_on and not self._chosen_goes_on):
            self._chosen, self._chosen_goes_on = (list(m.captures), list(m.streams)), goes_on
        m.captures[:], m.streams[:] = captures, streams

    def join(self) -> None:
        """All are through: what the first one opened that goes on is open now."""
        if self._chosen is not None:
            self._m.captures[:], self._m.streams[:] = self._chosen


def abandon(m: Machine, depth: int) -> None:
    """Leave captures that stay open: what is run next is no part of them."""
    while len(m.captures) > depth:
        m.finished.append(m.captures.pop())
        if m.streams:
            m.streams.pop()


def _remember_filled(m: Machine, capture: Capture) -> None:
    """Cells that hold tensors of the graph's pool now: eager code expects replays to refresh them."""
    for cell, write in capture.written.items():
        if any(t.storage.graph is capture.graph for t in tensors_in(write.value, 1)):
            m.filled[cell] = capture


def is_graph(value: Value) -> bool:
    return isinstance(value, Obj) and value.is_a("torch.cuda.CUDAGraph")


def graphs_in(value: Value) -> list[Obj]:
    """The graphs that a value may be."""
    return [part for part in alternatives(value) if isinstance(part, Obj) and is_graph(part)]
