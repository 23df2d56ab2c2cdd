"""`with` statements and exit stacks: entering and leaving every kind of context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from graphlint.analysis import (
    assignments,
    attributes,
    calls,
    captures,
    expressions,
    generators,
    parallel,
    statements,
    suspension,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.events import CaptureGuarded
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.libraries.registry import MODELS
from graphlint.analysis.values import (
    NONE,
    External,
    Obj,
    Unknown,
    Value,
    alternatives,
    is_none,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

Exit = Callable[[], None]


def run_with(
    m: Machine, items: Sequence[ast.withitem], body: Sequence[ast.stmt], frame: Frame, node: ast.AST
) -> None:
    """`with items: body`; a generator context runs the rest inside its own `yield`."""
    if not items:
        statements.execute(m, body, frame)
        return
    item, rest = items[0], items[1:]
    value = expressions.evaluate(m, item.context_expr, frame)
    chosen = _first_context(value)

    def inside(entered: Value) -> None:
        if item.optional_vars is not None:
            assignments.assign(m, item.optional_vars, entered, frame)
        run_with(m, rest, body, frame, node)

    if _is_generator(chosen) and not m.suspending:
        assert isinstance(chosen, Obj)
        _run_inside_generator(m, chosen, inside, frame)
        return
    entered, leave = enter(m, chosen, frame.place(item.context_expr), frame)
    m.open_exits.append(leave)
    inside(entered)
    m.open_exits.pop()
    reached, frame.reachable = frame.reachable, True
    leave()
    frame.reachable = reached


def _is_generator(value: Value) -> bool:
    """Whether a context is a project generator behind `contextlib.contextmanager`."""
    return isinstance(value, Obj) and value.cls == "context" and generators.is_project(value)


def _first_context(value: Value) -> Value:
    """A union of contexts is taken to be the one that captures, else the first that is not None."""
    parts = [p for p in alternatives(value) if not is_none(p)]
    for part in parts:
        if isinstance(part, Obj) and part.cls in ("torch.cuda.graph", "context"):
            return part
    return parts[0] if parts else value


def _run_inside_generator(m: Machine, value: Obj, inside: Callable[[Value], None], frame: Frame) -> None:
    state = {"ran": False}

    def on_yield(item: Value) -> Value:
        if not state["ran"]:
            state["ran"] = True
            inside(item)
        return NONE

    generators.drive(m, value, on_yield)
    if not state["ran"]:
        inside(Unknown("context"))


def enter(m: Machine, value: Value, place: Place, frame: Frame) -> tuple[Value, Exit]:
    """Enter a context: what `as` binds, and how to leave."""
    if isinstance(value, Obj):
        if isinstance(value.cls, ClassInfo):
            return _enter_project(m, value, place, frame)
        if _is_generator(value):
            return suspension.enter(m, value)
        handler = _LIBRARY.get(value.cls)
        if handler is not None:
            return handler(m, value, place)
        return _enter_plain(m, value)
    if isinstance(value, External):
        return _enter_plain(m, Obj(value.name, place))
    return value if isinstance(value, Unknown) and value.typed else Unknown("context"), lambda: None


def _enter_project(m: Machine, value: Obj, place: Place, frame: Frame) -> tuple[Value, Exit]:
    entering = attributes.get(m, value, "__enter__", place.node, frame)
    entered: Value = value
    before = len(m.captures)
    if _is_followed(entering):
        entered = calls.call(m, entering, Arguments(), place.node, frame, place)

    opened = m.captures[before:]  # left open where `__exit__` could not be followed: it ends them

    def leave() -> None:
        leaving = attributes.get(m, value, "__exit__", place.node, frame)
        if _is_followed(leaving):
            calls.call(m, leaving, Arguments([NONE, NONE, NONE]), place.node, frame, place)
        for capture in opened:
            if any(each is capture for each in m.captures):
                captures.end(m, place)

    return entered, leave


def _is_followed(method: Value) -> bool:
    """Whether a context method is the project's own or that of a library base with a model."""
    return not isinstance(method, (Unknown, External)) or (
        isinstance(method, External) and method.name in MODELS
    )


def _enter_plain(m: Machine, value: Obj) -> tuple[Value, Exit]:
    """A library context that rules may ask about: `no_grad`, `autocast`, a lock, a device."""
    m.contexts.append(value)

    def leave() -> None:
        if value in m.contexts:
            m.contexts.remove(value)

    return value, leave


def _enter_graph(m: Machine, value: Obj, place: Place) -> tuple[Value, Exit]:
    graph = value.fields["graph"]
    stream = value.fields.get("stream")
    where = value.fields.get("at") or place
    captures.start(
        m,
        value.fields.get("kind", "torch.cuda.graph"),
        place,
        graph,
        stream=stream if isinstance(stream, Obj) else None,
        pool=value.fields.get("pool"),
        mode=value.fields.get("mode", "global"),
    )
    m.captures[-1].facts["call"] = where

    def leave() -> None:
        captures.end(m, place)

    return value.fields.get("entered", value), leave


def _enter_own_graph(m: Machine, value: Obj, place: Place) -> tuple[Value, Exit]:
    """`with graph:` of `torch.accelerator.Graph`: a capture on the current stream."""
    stream = m.streams[-1] if m.streams else m.default_stream
    mode = value.fields.get("mode", "global")
    captures.start(m, "capture_begin", place, value, stream=stream, pool=value.fields.get("pool"), mode=mode)

    def leave() -> None:
        captures.end(m, place)

    return value, leave


def _enter_stream(m: Machine, value: Obj, place: Place) -> tuple[Value, Exit]:
    stream = value.fields.get("stream") if value.cls == "torch.cuda.StreamContext" else value
    if not isinstance(stream, Obj):
        return Unknown("stream"), lambda: None
    before = m.entered.get(stream.serial)
    m.entered[stream.serial] = place
    m.streams.append(stream)

    def leave() -> None:
        if m.streams:
            m.streams.pop()
        if before is None:
            m.entered.pop(stream.serial, None)
        else:
            m.entered[stream.serial] = before

    return stream, leave


def _enter_pool(m: Machine, value: Obj, place: Place) -> tuple[Value, Exit]:
    """A pool of threads waits for its jobs when it is left."""

    def leave() -> None:
        parallel.finish_jobs(m, value)

    return value, leave


def _enter_timer(m: Machine, value: Obj, place: Place) -> tuple[Value, Exit]:
    """A timer that waits for the device when it starts and when it stops; the first wait is told of."""
    timed, leave = _enter_plain(m, value)
    if value.fields.get("waits"):
        tensor_ops.effect(m, place.node, "warp.ScopedTimer", "sync", (), m.frame)
    return timed, leave


def _enter_suppression(m: Machine, value: Obj, place: Place) -> tuple[Value, Exit]:
    """`with suppress(RuntimeError):` goes on after a failed capture, as a handler that does nothing would."""
    before = len(m.finished)

    def leave() -> None:
        if captured := m.finished[before:]:
            m.emit(CaptureGuarded(place=place, guarded=captured))

    return NONE, leave


def _enter_stack(m: Machine, value: Obj, place: Place) -> tuple[Value, Exit]:
    value.fields.setdefault("exits", [])
    return value, lambda: leave_stack(value)


def leave_stack(stack: Obj) -> None:
    """Leave what was entered on an exit stack, the last first."""
    exits = stack.fields.pop("exits", [])
    for leave in reversed(exits):
        leave()


def enter_on_stack(m: Machine, stack: Obj, value: Value, place: Place, frame: Frame) -> Value:
    """`stack.enter_context(value)`: entered now, left when the stack is."""
    entered, leave = enter(m, _first_context(value), place, frame)
    stack.fields.setdefault("exits", []).append(leave)
    return entered


def enter_by_hand(m: Machine, value: Obj, place: Place, frame: Frame) -> Value:
    """`context.__enter__()`: entered now, left by `__exit__`."""
    library = value.fields.get("?library")
    entered, leave = enter(m, library if isinstance(library, Obj) else value, place, frame)
    value.fields["?leave"] = leave
    return entered


def leave_by_hand(value: Obj) -> None:
    """`context.__exit__(...)`."""
    leave = value.fields.pop("?leave", None)
    if callable(leave):
        leave()


_LIBRARY: dict[str, Callable[[Machine, Obj, Place], tuple[Value, Exit]]] = {
    "torch.cuda.graph": _enter_graph,
    "torch.cuda.CUDAGraph": _enter_own_graph,
    "torch.cuda.StreamContext": _enter_stream,
    "torch.cuda.Stream": _enter_stream,
    "contextlib.ExitStack": _enter_stack,
    "contextlib.suppress": _enter_suppression,
    "concurrent.futures.ThreadPoolExecutor": _enter_pool,
    "warp.ScopedTimer": _enter_timer,
}
