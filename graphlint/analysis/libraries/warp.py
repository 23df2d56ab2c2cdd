"""NVIDIA Warp: launches, its own captures, and conditions inside of them. Its arrays are in the tables."""

from __future__ import annotations

from graphlint.analysis import calls, captures, replays, storing, tensor_ops
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.events import Called
from graphlint.analysis.graphs import new_graph
from graphlint.analysis.libraries import streams_events
from graphlint.analysis.libraries.cupy import capture_mode
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import NONE, Const, Function, Obj, Partial, Unknown, Value, is_none

# Contexts in which launches go to a stream that the program has named.
ENTERED = frozenset({"warp.ScopedStream", "warp.ScopedCapture"})
BEGIN_MODE = 5  # the position of `capture_mode`
TIMER_ACTIVE, TIMER_WAITS = 1, 7  # and of `active` and `synchronize`


@model("warp.launch", "warp.launch_tiled")
def _kernel_launch(call: Call) -> Value:
    """`wp.launch(kernel, dim, inputs)`: device code, never entered."""
    given = [t for value in call.arguments.all() for t in tensors_in(value, 2)]
    tensor_ops.note_use(call.m, given, call.place)
    _judge_stream(call)
    call.m.emit(Called(place=call.place, what="launch", target=NONE, arguments=call.arguments.all()))
    for value in call.arguments.all():
        if not tensor_ops.any_tensor(value):
            tensor_ops.host_use(call.m, call.node, value, "launch", call.frame)
    return NONE


def _judge_stream(call: Call) -> None:
    entered = any(context.cls in ENTERED for context in call.m.contexts)
    if not entered and call.arguments.kwargs.get("stream") is None:
        streams_events.judge_own_stream(call, "warp")


@model("warp.set_stream")
def _set_stream(call: Call) -> Value:
    call.m.memo[streams_events.TOLD, "warp"] = call.place
    return NONE


@model("warp.ScopedStream")
def _scoped_stream(call: Call) -> Value:
    return Obj("warp.ScopedStream", call.place)


@model("warp.ScopedTimer")
def _timer(call: Call) -> Value:
    """A timer waits for the device where it is told to, unless it is switched off."""
    made = Obj("warp.ScopedTimer", call.place)
    active = call.get(TIMER_ACTIVE, "active")
    is_on = active is None or (isinstance(active, Const) and bool(active.value))
    made.fields["waits"] = is_on and call.flag(TIMER_WAITS, "synchronize") is True
    return made


@model("warp.kernel", "warp.func")
def _kernel(call: Call) -> Value:
    if call.args and isinstance(call.args[0], Function):
        made = Obj("warp.kernel", call.place)
        made.fields["wrapped"] = call.args[0]
        return made
    return Obj("identity-decorator", call.place)


@model("warp.set_mempool_enabled")
def _set_mempool(call: Call) -> Value:
    enabled = call.get(1, "enable")
    call.m.memo["memory-pools-off"] = isinstance(enabled, Const) and not enabled.value
    return NONE


@model("warp.ScopedCapture")
def _scoped(call: Call) -> Value:
    """A capture; one that is said to be under way already is only taken part in."""
    if call.flag(3, "external"):
        return Obj("warp.ScopedCapture", call.place)
    made = Obj("torch.cuda.graph", call.place)
    graph = new_graph(call.place)
    entered = Obj("warp.Capture", call.place)
    entered.fields["graph"] = graph
    made.fields.update({"graph": graph, "kind": "warp.ScopedCapture", "entered": entered})
    made.fields["stream"] = streams_events.stream_of(call, call.get(1, "stream"))
    made.fields["mode"] = capture_mode(call.get(BEGIN_MODE, "capture_mode"), "thread_local")
    return made


@model("warp.capture_begin")
def _begin(call: Call) -> Value:
    if not call.flag(3, "external"):
        stream = streams_events.stream_of(call, call.get(1, "stream"))
        mode = capture_mode(call.get(BEGIN_MODE, "capture_mode"), "thread_local")
        graph = new_graph(call.place)
        captures.start(call.m, "warp.capture_begin", call.place, graph, stream=stream, mode=mode)
    return NONE


@model("warp.capture_end")
def _end(call: Call) -> Value:
    return captures.end_to_graph(call.m, call.place)


@model("warp.capture_launch")
def _launch(call: Call) -> Value:
    stream = streams_events.stream_of(call, call.get(1, "stream"))
    for value in call.args[:1]:
        for graph in captures.graphs_in(value):
            replays.replay_on(call.m, graph, call.place, stream)
    return NONE


@model("warp.capture_if", "warp.capture_while")
def _conditional(call: Call) -> Value:
    """The bodies become parts of the graph, the condition stays on the device: no Python reads it."""
    condition = call.get(0, "condition")
    tensor_ops.note_use(call.m, list(tensors_in(condition)) if condition is not None else [], call.place)
    bodies = [call.get(1, "on_true" if call.name.endswith("if") else "while_body")]
    bodies += [call.get(2, "on_false")] if call.name.endswith("if") else []
    reserved = ("condition", "on_true", "on_false", "while_body", "stream")
    given = {name: value for name, value in call.arguments.kwargs.items() if name not in reserved}
    for body in bodies:
        if isinstance(body, (Function, Partial)):
            calls.call(call.m, body, Arguments([], dict(given)), call.node, call.frame, call.place)
        elif not is_none(body):
            call.m.unresolved(call.place, "the body of a conditional node")
    return NONE


@model("warp.copy")
def _copy(call: Call) -> Value:
    """`wp.copy(dest, src)`: a write into `dest`."""
    tensor_ops.note_use(call.m, tensor_ops.operands_of(*call.args), call.place)
    source = call.get(1, "src") or Unknown("source")
    for tensor in tensor_ops.operands_of(call.get(0, "dest") or NONE):
        storing.wrote_tensor(call.m, tensor, source, call.node, call.frame, waits=False)
    return NONE
