"""The CUDA runtime and driver called directly: `cuda.bindings`, and `cupy.cuda.runtime`.

Their functions return an error code and what they make; those of CuPy return only the latter. What waits or
must not run in a capture is in the tables.
"""

from __future__ import annotations

from collections.abc import Callable

from graphlint.analysis import captures, replays
from graphlint.analysis.graphs import new_graph
from graphlint.analysis.libraries import streams_events
from graphlint.analysis.libraries.cupy import capture_mode, current_beside
from graphlint.analysis.libraries.registry import Call, Model, model
from graphlint.analysis.values import (
    NONE,
    Change,
    Const,
    External,
    Host,
    Obj,
    Sequence_,
    Unknown,
    Value,
    alternatives,
)
from graphlint.rules import operations

_RUNTIME = "cuda.bindings.runtime"


def driver_call(name: str, *variants: str) -> Callable[[Model], Model]:
    """Register a model for a call of the runtime (`cudaX`), of the driver (`cuX`) and of CuPy (`x`)."""

    def register(function: Model) -> Model:
        small = name[0].lower() + name[1:]
        model(f"cupy.cuda.runtime.{small}")(function)

        @model(*_names(name, *variants))
        def with_error(call: Call) -> Value:
            made = function(call)
            error = External(operations.mapped("success_code")[call.name.rpartition(".")[0]])
            return Sequence_([error] if made is NONE else [error, made], "tuple")

        return function

    return register


def _names(*names: str) -> list[str]:
    return [
        f"{module}{name}"
        for name in names
        for module in ("cuda.bindings.runtime.cuda", "cuda.bindings.driver.cu")
    ]


def stream_of(call: Call, value: Value | None) -> Obj:
    """The stream behind a handle; one that is not known is a stream of its own."""
    for part in alternatives(value) if value is not None else ():
        if isinstance(part, Obj) and part.cls == "torch.cuda.Stream":
            return part
        found = call.m.memo.get(part.symbol) if isinstance(part, Host) else None
        if isinstance(found, Obj):
            return found
        if isinstance(part, Const) and part.value in (0, None):
            return call.m.default_stream
    return Obj("torch.cuda.Stream", call.place, "unknown")


@driver_call("StreamCreate", "StreamCreateWithFlags", "StreamCreateWithPriority")
def _create_stream(call: Call) -> Value:
    made = Obj("torch.cuda.Stream", call.place, "own")
    made.fields["blocking"] = True
    return made


@driver_call("StreamBeginCapture", "StreamBeginCapture_v2", "StreamBeginCaptureToGraph")
def _begin(call: Call) -> Value:
    to_graph = call.name.endswith("ToGraph")
    given = call.get(1, "graph") if to_graph else None
    graph = given if isinstance(given, Obj) and captures.is_graph(given) else new_graph(call.place)
    mode = capture_mode(call.args[-1] if len(call.args) > 1 else None, "global")
    stream = stream_of(call, call.get(0, "stream"))
    current = current_beside(call, stream)
    captures.start(call.m, "begin_capture", call.place, graph, stream=stream, mode=mode)
    call.m.captures[-1].facts["raw"] = True
    call.m.streams[-1] = current
    return NONE


@driver_call("StreamEndCapture")
def _end(call: Call) -> Value:
    return captures.end_to_graph(call.m, call.place)


@driver_call("GraphInstantiate", "GraphInstantiateWithFlags", "GraphInstantiateWithParams", "GraphClone")
def _instantiate(call: Call) -> Value:
    """What can be launched stands for the graph that it was made of."""
    return call.get(0, "graph") or Unknown("graph")


@driver_call("GraphLaunch")
def _launch(call: Call) -> Value:
    stream = stream_of(call, call.get(1, "stream"))
    for value in call.args[:1]:
        for graph in captures.graphs_in(value):
            replays.replay_on(call.m, graph, call.place, stream)
    return NONE


@driver_call("GraphUpload", "GraphDestroy", "GraphExecDestroy", "StreamDestroy", "EventDestroy")
def _nothing(call: Call) -> Value:
    return NONE


@driver_call("EventCreate", "EventCreateWithFlags")
def _create_event(call: Call) -> Value:
    made = Obj("torch.cuda.Event", call.place)
    made.fields["external"] = Const(False)
    return made


@driver_call("EventRecord")
def _record(call: Call) -> Value:
    event = call.get(0, "event")
    if isinstance(event, Obj):
        streams_events.recorded(call, event, stream_of(call, call.get(1, "stream")))
    return NONE


@driver_call("StreamWaitEvent")
def _wait(call: Call) -> Value:
    event = call.get(1, "event")
    if isinstance(event, Obj):
        streams_events.wait_for(call, event, stream_of(call, call.get(0, "stream")))
    return NONE


@driver_call("StreamIsCapturing")
def _is_capturing(call: Call) -> Value:
    module = call.name.rpartition(".")[0]
    known = module if module in operations.mapped("capture_status") else _RUNTIME
    return _status(known, bool(call.m.captures))


@model(*_names("StreamGetCaptureInfo", "StreamGetCaptureInfo_v2", "StreamGetCaptureInfo_v3"))
def _capture_info(call: Call) -> Value:
    """The error code, the status and what else there is to tell, which is more in newer versions."""
    module = call.name.rpartition(".")[0]
    error = External(operations.mapped("success_code")[module])
    return Sequence_([error, _status(module, bool(call.m.captures))], "tuple", Unknown("capture info"))


def _status(module: str, is_capturing: bool) -> External:
    """The member of the library's enumeration that says whether a stream is capturing."""
    first, last = operations.mapped("capture_status")[module]
    return External(f"{module}.{first if is_capturing else last}")


@driver_call("GraphConditionalHandleCreate")
def _condition(call: Call) -> Value:
    return Host("int", Change.CONSTANT)


# `cuda.core`: a builder records what is launched on it.


@model("cuda.core.Device", "cuda.core.Device.create_stream", "cuda.core.Stream.create_graph_builder")
def _made(call: Call) -> Value:
    if call.name.endswith("create_stream"):
        return Obj("torch.cuda.Stream", call.place, "own")
    return Obj(call.name, call.place)


@model("cuda.core.Device.create_graph_builder", "torch.cuda.Stream.create_graph_builder")
def _builder(call: Call) -> Value:
    made = Obj("cuda.core.GraphBuilder", call.place)
    on = call.owner if isinstance(call.owner, Obj) and call.owner.cls == "torch.cuda.Stream" else None
    made.fields["stream"] = on or Obj("torch.cuda.Stream", call.place, "own")
    made.fields["graph"] = new_graph(call.place)
    return made


@model("cuda.core.GraphBuilder.begin_building")
def _begin_building(call: Call) -> Value:
    builder = call.this
    mode = capture_mode(call.get(0, "mode"), "relaxed")
    stream = builder.fields.get("stream")
    graph = builder.fields.get("graph") or new_graph(call.place)
    captures.start(
        call.m,
        "begin_capture",
        call.place,
        graph,
        stream=stream if isinstance(stream, Obj) else None,
        mode=mode,
    )
    return builder


@model("cuda.core.GraphBuilder.end_building")
def _end_building(call: Call) -> Value:
    captures.end(call.m, call.place)
    return call.this


@model("cuda.core.GraphBuilder.complete")
def _complete(call: Call) -> Value:
    graph = call.this.fields.get("graph")
    return graph if isinstance(graph, Obj) else Unknown("graph")
