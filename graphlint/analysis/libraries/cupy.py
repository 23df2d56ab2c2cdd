"""CuPy: captures of a stream, their graphs, and kernels written by hand. Its arrays are in the tables."""

from __future__ import annotations

from graphlint.analysis import captures, replays, streams, tensor_ops
from graphlint.analysis.events import Called
from graphlint.analysis.graphs import new_graph
from graphlint.analysis.libraries import streams_events
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    External,
    Function,
    Obj,
    Value,
    is_none,
)
from graphlint.rules import operations


@model("torch.cuda.Stream.begin_capture")
def _begin_capture(call: Call) -> Value:
    """`stream.begin_capture()` records what is issued to the stream; the current stream stays what it is."""
    current = current_beside(call, call.this)
    graph = new_graph(call.place)
    mode = capture_mode(call.get(0, "mode"), "relaxed")
    captures.start(call.m, "begin_capture", call.place, graph, stream=call.this, mode=mode)
    call.m.captures[-1].facts["raw"] = True
    call.m.streams[-1] = current
    return NONE


def current_beside(call: Call, stream: Obj) -> Obj:
    """The stream that is current while a call captures on `stream`.

    Where the program does not say, it is taken to be `stream`, unless this is a script or the stream is new.
    """
    made = stream.site
    new = stream.label == "own" and made is not None and made.function == call.place.function
    return streams_events.current_stream(call) if call.m.streams or call.m.script or new else stream


def capture_mode(value: Value | None, default: str) -> str:
    """The mode that a constant such as `streamCaptureModeThreadLocal` names."""
    if is_none(value):
        return default
    if isinstance(value, External):
        return next(
            (mode for end, mode in operations.mapped("capture_mode").items() if value.name.endswith(end)),
            "unknown",
        )
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value
    return "unknown"


@model("torch.cuda.Stream.end_capture")
def _end_capture(call: Call) -> Value:
    return captures.end_to_graph(call.m, call.place)


@model("torch.cuda.CUDAGraph.launch")
def _launch(call: Call) -> Value:
    """`graph.launch(stream)`: a replay, on the current stream when none is given."""
    stream = streams_events.stream_of(call, call.get(0, "stream"))
    replays.replay_on(call.m, call.this, call.place, stream)
    return NONE


@model("torch.cuda.CUDAGraph.upload", "torch.cuda.Stream.launch_host_func")
def _upload(call: Call) -> Value:
    return NONE


@model("torch.cuda.Stream.is_capturing")
def _is_capturing(call: Call) -> Value:
    return TRUE if call.m.captures else FALSE


@model("cupy.random.default_rng", "cupy.random.RandomState")
def _generator(call: Call) -> Value:
    return Obj(
        "cupy.random.RandomState" if call.name.endswith("State") else "cupy.random.Generator", call.place
    )


@model("cupy.cuda.Device")
def _device(call: Call) -> Value:
    return Obj("cupy.cuda.Device", call.place)


@model(
    "cupy.RawKernel",
    "cupy.ElementwiseKernel",
    "cupy.ReductionKernel",
    "cupy.RawModule.get_function",
    "cupy.cuda.function.Module.get_function",
)
def _kernel(call: Call) -> Value:
    made = Obj("cupy.kernel", call.place)
    made.fields["returns"] = TRUE if call.name.endswith(("ElementwiseKernel", "ReductionKernel")) else FALSE
    return made


@model("cupyx.jit.rawkernel")
def _jit(call: Call) -> Value:
    return Obj("cupyx.jit.decorator", call.place)


@model("cupyx.jit.decorator.__call__")
def _decorated(call: Call) -> Value:
    """Device code: launched, never entered."""
    return Obj("cupy.kernel", call.place)


@model("cupy.fuse")
def _fuse(call: Call) -> Value:
    return (
        call.args[0]
        if call.args and isinstance(call.args[0], Function)
        else Obj("identity-decorator", call.place)
    )


@model("cupy.kernel.__call__")
def _run_kernel(call: Call) -> Value:
    """A launch: its numbers are recorded; an elementwise kernel makes a new array."""
    values = call.arguments.all()
    given = [tensor for value in values for tensor in tensors_in(value, 2)]
    stream = streams_events.stream_of(call, call.arguments.kwargs.get("stream"))
    current = streams_events.current_stream(call) if stream is None else stream
    with streams.on(call.m, current):
        tensor_ops.note_use(call.m, given, call.place)
    if stream is None and current is call.m.capture_stream:
        streams_events.judge_own_stream(call, "cupy")
    call.m.emit(Called(place=call.place, what="launch", target=NONE, arguments=values))
    for value in values:
        if not isinstance(value, External):
            tensor_ops.host_use(call.m, call.node, value, "launch", call.frame)
    if call.this.fields.get("returns") is not TRUE:
        return NONE
    made = call.m.tensor("cuda", call.place)
    made.library = "cupy"
    return made
