"""Streams and events of `torch.cuda`: who waits for whom, and waits of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    parallel,
    streams,
    tensor_ops,
)
from graphlint.analysis.events import Called, Operation, StreamEscaped
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.timeline import Knowledge
from graphlint.analysis.values import (
    FALSE,
    NONE,
    Change,
    Const,
    Host,
    Obj,
    Value,
    alternatives,
)

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine


TOLD = "stream told to"  # with the name of a library: it has been given a stream of the program's


def stream_of(call: Call, value: Value | None) -> Obj | None:
    for part in alternatives(value) if value is not None else ():
        if isinstance(part, Obj) and part.cls == "torch.cuda.Stream":
            return part
    return None


def handle_of(m: Machine, stream: Obj) -> Host:
    """The number that stands for a stream where other libraries are told of it."""
    made = Host("int", Change.CONSTANT, ("cuda_stream", stream.serial))
    m.memo[made.symbol] = stream
    return made


def current_stream(call: Call) -> Obj:
    return call.m.streams[-1] if call.m.streams else call.m.default_stream


@model(
    "torch.cuda.Stream", "torch.cuda.ExternalStream", "torch.Stream", "torch.cuda.get_stream_from_external"
)
def _stream(call: Call) -> Value:
    """Streams of torch do not wait for the default stream; those of others do unless they are told not to."""
    known = _stream_of_handle(call) if "xternal" in call.name else None
    if known is not None:
        return known
    made = Obj("torch.cuda.Stream", call.place, "own")
    made.fields["blocking"] = not call.written.startswith("torch") and not call.flag(1, "non_blocking")
    return made


def _stream_of_handle(call: Call) -> Obj | None:
    """The stream of torch that another library is told of by its number."""
    handle = call.get(0, "ptr") or call.get(0, "stream_ptr") or call.get(0, "data_ptr")
    known = call.m.memo.get(handle.symbol) if isinstance(handle, Host) else None
    if not isinstance(known, Obj):
        return None
    call.m.memo[TOLD, call.written.partition(".")[0]] = call.place
    return known


def judge_own_stream(call: Call, library: str) -> None:
    """A library launches on a stream of its own, unless it is told of the one that torch captures."""
    m, capture = call.m, call.m.capture
    if capture is None or not capture.kind.startswith("torch.") or capture.stream is not m.capture_stream:
        return
    if (TOLD, library) not in m.memo:
        m.emit(StreamEscaped(place=call.place, stream=m.default_stream))


@model("torch.cuda.current_stream")
def _current_stream(call: Call) -> Value:
    return current_stream(call)


@model("torch.cuda.default_stream")
def _default_stream(call: Call) -> Value:
    return call.m.default_stream


@model("torch.cuda.stream")
def _stream_context(call: Call) -> Value:
    made = Obj("torch.cuda.StreamContext", call.place)
    made.fields["stream"] = stream_of(call, call.get(0, "stream"))
    return made


@model("torch.cuda.set_stream")
def _set_stream(call: Call) -> Value:
    """`torch.cuda.set_stream(stream)`, and `stream.use()` of other libraries."""
    stream = stream_of(call, call.owner or call.get(0, "stream"))
    if stream is not None and call.m.streams:
        call.m.streams[-1] = stream
    elif stream is not None:
        call.m.streams.append(stream)
    return NONE


@model("torch.cuda.Stream.wait_stream")
def _wait_stream(call: Call) -> Value:
    """`a.wait_stream(b)`: work on `a` from here on comes after what `b` has so far."""
    others = streams_in(call.get(0, "stream"))
    only = others[0] if len(others) == 1 else None
    call.m.emit(Called(place=call.place, what="wait-stream", target=call.this, data=only))
    if not call.m.captures:
        line = call.m.timeline
        line.wait(call.this, line.known_to(only) if only is not None else line.issued)
    if only is not None:
        streams.order(call.m, call.place, call.this, only)
    else:
        streams.given_away(call.m, call.place, others)
        streams.order_after_unknown(call.m, call.place, call.this)
    return NONE


@model("torch.cuda.Event", "torch.Event")
def _event(call: Call) -> Value:
    made = Obj("torch.cuda.Event", call.place)
    external = call.arguments.kwargs.get("external")
    made.fields["external"] = external if external is not None else FALSE
    return made


@model("torch.cuda.Event.record", "torch.cuda.Stream.record_event")
def _record(call: Call) -> Value:
    """An event remembers the stream that recorded it."""
    if call.name.endswith("record_event"):
        event = call.get(0, "event")
        made = event if isinstance(event, Obj) else Obj("torch.cuda.Event", call.place)
        recorded(call, made, call.this)
        return made
    given = call.get(0, "stream")
    stream = stream_of(call, given) if given is not None else current_stream(call)
    recorded(call, call.this, stream)
    return NONE


def recorded(call: Call, event: Obj, stream: Obj | None) -> None:
    """An event was recorded on a stream."""
    call.m.heap.write(event.fields, "stream", stream)
    line = call.m.timeline
    call.m.heap.write(event.fields, "known", line.known_to(stream) if stream is not None else line.issued)
    call.m.heap.write(event.fields, "capture", call.m.capture)


@model("torch.cuda.Stream.wait_event", "torch.cuda.Event.wait")
def _wait_event(call: Call) -> Value:
    event = call.get(0, "event") if call.name.endswith("wait_event") else call.this
    given = call.get(0, "stream") if call.name.endswith("Event.wait") else None
    own = call.this if call.name.endswith("wait_event") else current_stream(call)
    waiter = stream_of(call, given) if given is not None else own
    if isinstance(event, Obj) and waiter is not None:
        wait_for(call, event, waiter)
    elif waiter is not None:
        _wait_for_one_of(call, event, waiter)
    return NONE


def _wait_for_one_of(call: Call, event: Value | None, waiter: Obj) -> None:
    """A stream waits for one of several events, taken to be the right one unless none of them can be."""
    m = call.m
    m.emit(Called(place=call.place, what="wait-stream", target=waiter))
    if not m.captures:
        m.timeline.wait(waiter, m.timeline.issued)
    known = [_before_capture(each) for each in alternatives(event)] if event is not None else []
    before = [stream for stream in known if stream is not None]
    if m.captures and before and len(before) == len(known):
        streams.order(m, call.place, waiter, before[0], recorded=False)
    else:
        streams.order_after_unknown(m, call.place, waiter)


def _before_capture(event: Value) -> Obj | None:
    """The stream on which an event was recorded before the capture began; None where that is not certain."""
    if not isinstance(event, Obj) or event.fields.get("external") is not FALSE:
        return None
    stream = event.fields.get("stream")
    return stream if isinstance(stream, Obj) and event.fields.get("capture") is None else None


def wait_for(call: Call, event: Obj, waiter: Obj) -> None:
    """A stream waits for an event."""
    earlier = event.fields.get("stream")
    if not call.m.captures:
        call.m.timeline.wait(waiter, event.fields.get("known") or call.m.timeline.issued)
    call.m.emit(Called(place=call.place, what="wait-stream", target=waiter, data=earlier))
    in_capture = event.fields.get("capture") is call.m.capture
    if isinstance(earlier, Obj) and (in_capture or event.fields.get("external") is FALSE):
        streams.order(call.m, call.place, waiter, earlier, recorded=in_capture)


@model("torch.cuda.synchronize", "torch.cuda.Stream.synchronize", "torch.cuda.Event.synchronize")
def _synchronize(call: Call) -> Value:
    if call.name == "torch.cuda.synchronize":
        parallel.note_device_wait(call.m, call.place)
    return _effect(call, "sync", NONE)


@model("torch.cuda.Stream.query", "torch.cuda.Event.query", "torch.cuda.Event.elapsed_time")
def _query(call: Call) -> Value:
    return _effect(call, "query", Host("any", Change.CHANGING))


def _effect(call: Call, what: str, value: Value) -> Value:
    parallel.note_cuda_call(call.m)
    if not call.m.captures:
        call.m.timeline.host_waits(_waited_for(call))
    capture = tensor_ops.broken_capture(call.m, call.name, what)
    if capture is not None and capture.mode == "relaxed" and _is_earlier_event(call.owner, capture):
        return value
    if capture is not None:
        event = Operation(
            place=call.place, name=call.written or call.name, effect=what, operands=tuple(call.args)
        )
        event.capture = capture
        call.m.emit(event)
    else:
        call.m.emit(Called(place=call.place, what=what, target=call.owner or Const(call.name)))
    return value


def _is_earlier_event(owner: Value | None, capture: Capture) -> bool:
    """Whether an event takes no part in a capture: in the relaxed mode it may be waited for and asked."""
    is_event = isinstance(owner, Obj) and owner.cls == "torch.cuda.Event"
    return is_event and owner.fields.get("capture") is not capture  # type: ignore[union-attr]


def _waited_for(call: Call) -> Knowledge:
    """What a call that waits, or asks until it is done, waits for."""
    line, owner = call.m.timeline, call.owner
    if isinstance(owner, Obj) and owner.cls == "torch.cuda.Stream" and streams.is_known(owner):
        return line.known_to(owner)
    if isinstance(owner, Obj) and owner.cls == "torch.cuda.Event":
        known = owner.fields.get("known")
        return dict(known) if isinstance(known, dict) else line.issued
    return line.issued


@model("Tensor.record_stream")
def _record_stream(call: Call) -> Value:
    return NONE


def streams_in(value: Value | None) -> tuple[Obj, ...]:
    parts = alternatives(value) if value is not None else ()
    return tuple(part for part in parts if isinstance(part, Obj) and part.cls == "torch.cuda.Stream")
