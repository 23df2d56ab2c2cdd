"""NVIDIA Warp: arrays, launches and its own captures."""

from __future__ import annotations

from graphlint.analysis import captures, tensor_ops
from graphlint.analysis.events import Called, Operation
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Function, Obj, Unknown, Value, tensors_in

ALLOCATIONS = ("zeros", "full", "empty", "ones", "array", "zeros_like", "empty_like", "clone", "from_numpy")


@model("warp.launch", "warp.launch_tiled")
def _kernel_launch(call: Call) -> Value:
    """`wp.launch(kernel, dim, inputs)`: device code, never entered."""
    given = [t for value in call.arguments.all() for t in tensors_in(value, 2)]
    tensor_ops.note_use(call.m, given, call.place)
    call.m.emit(Called(place=call.place, what="launch", target=NONE, arguments=call.arguments.all()))
    for value in call.arguments.all():
        if not tensor_ops.any_tensor(value):
            tensor_ops.host_use(call.m, call.node, value, "launch", call.frame)
    return NONE


@model("warp.kernel", "warp.func")
def _kernel(call: Call) -> Value:
    if call.args and isinstance(call.args[0], Function):
        made = Obj("warp.kernel", call.place)
        made.fields["wrapped"] = call.args[0]
        return made
    return Obj("identity-decorator", call.place)


@model(*[f"warp.{name}" for name in ALLOCATIONS])
def _allocate(call: Call) -> Value:
    named = tensor_ops.device_of(call.m, call.arguments.kwargs.get("device"))
    device = named if isinstance(named, str) else None
    if call.name in ("warp.array", "warp.from_numpy") and call.m.captures:
        event = Operation(place=call.place, name=call.name, effect="host-data", operands=tuple(call.args))
        call.m.emit(event)
    return call.m.tensor(device, call.place)


@model("warp.ScopedCapture")
def _scoped(call: Call) -> Value:
    made = Obj("torch.cuda.graph", call.place)
    graph = Obj("torch.cuda.CUDAGraph", call.place)
    graph.fields["stamp"] = 0
    entered = Obj("warp.Capture", call.place)
    entered.fields["graph"] = graph
    made.fields.update(
        {"graph": graph, "kind": "warp.ScopedCapture", "entered": entered, "mode": "thread_local"}
    )
    return made


@model("warp.capture_begin")
def _begin(call: Call) -> Value:
    graph = Obj("torch.cuda.CUDAGraph", call.place)
    graph.fields["stamp"] = 0
    captures.start(call.m, "warp.capture_begin", call.place, graph, mode="thread_local")
    return NONE


@model("warp.capture_end")
def _end(call: Call) -> Value:
    record = captures.end(call.m, call.place)
    return record.graph if record is not None and record.graph is not None else Unknown("graph")


@model("warp.capture_launch")
def _launch(call: Call) -> Value:
    for value in call.args:
        for graph in captures.graphs_in(value):
            captures.replay(call.m, graph, call.place)
    return NONE


@model("warp.synchronize", "warp.synchronize_device", "warp.synchronize_stream", "warp.synchronize_event")
def _synchronize(call: Call) -> Value:
    if call.m.captures:
        call.m.emit(Operation(place=call.place, name=call.name, effect="sync", operands=tuple(call.args)))
    return NONE


@model("warp.load_module", "warp.init", "warp.set_device", "warp.force_load")
def _setup(call: Call) -> Value:
    return NONE


@model("warp.copy")
def _copy(call: Call) -> Value:
    tensors = tensor_ops.operands_of(*call.args)
    tensor_ops.note_use(call.m, tensors, call.place)
    return NONE
