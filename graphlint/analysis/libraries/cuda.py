"""`torch.cuda`: graphs, graphed callables, devices, and the questions programs ask about them."""

from __future__ import annotations

from graphlint.analysis import (
    calls,
    captures,
    contexts,
    elements,
    gradients,
    outputs,
    replays,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.events import Called
from graphlint.analysis.graphs import new_graph
from graphlint.analysis.libraries import autograd, hooks, nn, streams_events
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import (
    FALSE,
    NONE,
    TRUE,
    Change,
    Const,
    External,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Storage,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
    join_all,
)


@model("torch.cuda.CUDAGraph")
def _graph(call: Call) -> Value:
    return new_graph(call.place)


@model("torch.cuda.graph", "torch.cuda.graphs.graph")
def _graph_context(call: Call) -> Value:
    made = Obj("torch.cuda.graph", call.place)
    made.fields["graph"] = graph_of(call, call.get(0, "cuda_graph"))
    made.fields["pool"] = call.get(1, "pool")
    made.fields["stream"] = _given_stream(call, call.get(2, "stream"))
    made.fields["mode"] = call.text(3, "capture_error_mode", "global")
    mode = call.get(3, "capture_error_mode")
    if mode is not None and not isinstance(mode, Const):
        made.fields["mode"] = "unknown"
    made.fields["at"] = call.place
    return made


def _given_stream(call: Call, value: Value | None) -> Obj | None:
    """The stream to capture on; one that is not known is a stream of its own."""
    found = streams_events.stream_of(call, value)
    if found is not None or is_none(value):
        return found
    return Obj("torch.cuda.Stream", call.place, "unknown")


@model("torch.cuda.graph.__init__")
def _init_subclass(call: Call) -> Value:
    """A project class derived from `torch.cuda.graph` holds the context that it extends."""
    call.this.fields["?library"] = _graph_context(call)
    return NONE


@model(
    "torch.cuda.graph.__enter__",
    "torch.cuda.StreamContext.__enter__",
    "contextlib.ExitStack.__enter__",
    "context.__enter__",
)
def _enter(call: Call) -> Value:
    return contexts.enter_by_hand(call.m, call.this, call.place, call.frame)


@model("torch.cuda.graph.__exit__", "torch.cuda.StreamContext.__exit__", "context.__exit__")
def _exit(call: Call) -> Value:
    contexts.leave_by_hand(call.this)
    return NONE


@model("torch.cuda.CUDAGraph.__init__")
def _init_graph(call: Call) -> Value:
    call.this.fields.setdefault("stamp", 0)
    return NONE


def graph_of(call: Call, value: Value | None) -> Obj:
    for part in alternatives(value) if value is not None else ():
        if isinstance(part, Obj):
            part.fields.setdefault("stamp", 0)
            return part
    return new_graph(call.place)


@model("torch.accelerator.Graph")
def _accelerator_graph(call: Call) -> Value:
    """A graph that is its own context: `with graph:` captures on the current stream."""
    made = new_graph(call.place)
    made.fields["pool"] = call.arguments.kwargs.get("pool")
    mode = call.text(1, "capture_error_mode", "global")
    made.fields["mode"] = "global" if mode == "default" else mode
    return made


@model("torch.cuda.CUDAGraph.capture_begin")
def _capture_begin(call: Call) -> Value:
    captures.start(
        call.m,
        "capture_begin",
        call.place,
        call.this,
        stream=streams_events.current_stream(call),
        pool=call.get(0, "pool"),
        mode=call.text(1, "capture_error_mode", "global"),
    )
    call.m.captures[-1].facts["raw"] = True
    return NONE


@model("torch.cuda.CUDAGraph.capture_end")
def _capture_end(call: Call) -> Value:
    captures.end(call.m, call.place)
    return NONE


@model("torch.cuda.CUDAGraph.replay")
def _replay(call: Call) -> Value:
    named = [p.owner for p in call.m.callees if isinstance(p, External) and isinstance(p.owner, Obj)]
    replays.replay(call.m, call.this, call.place, named if call.this in named else ())
    return NONE


@model("torch.cuda.CUDAGraph.pool")
def _pool(call: Call) -> Value:
    own = call.this.fields.get("own-pool")
    if own is None:
        record = call.this.fields.get("record")
        given = getattr(record, "pool", None)
        own = given if isinstance(given, Obj) else Obj("graph-pool", call.place)
        call.this.fields["own-pool"] = own
    return own if isinstance(own, Value) else Unknown("pool")


@model("torch.cuda.graph_pool_handle", "torch.cuda.MemPool", "torch.cuda.graphs.graph_pool_handle")
def _pool_handle(call: Call) -> Value:
    return Obj("graph-pool", call.place)


@model("torch.cuda.CUDAGraph.reset")
def _reset(call: Call) -> Value:
    call.m.heap.write(call.this.fields, "record", None)
    call.m.emit(Called(place=call.place, what="graph-reset", target=call.this))
    return NONE


@model("torch.cuda.CUDAGraph.register_generator_state")
def _register_generator(call: Call) -> Value:
    """The graph takes over the state of these generators; None among them is one that is not known."""
    registered = call.this.fields.setdefault("generators", set())
    for value in call.arguments.all():
        registered.update(part.serial if isinstance(part, Obj) else None for part in alternatives(value))
    return NONE


@model(
    "torch.cuda.CUDAGraph.debug_dump",
    "torch.cuda.CUDAGraph.enable_debug_mode",
    "torch.cuda.CUDAGraph.instantiate",
    "torch.cuda.CUDAGraph.raw_cuda_graph",
)
def _nothing(call: Call) -> Value:
    return NONE


@model(
    "torch.cuda.make_graphed_callables",
    "torch.cuda.graphs.make_graphed_callables",
    "transformer_engine.pytorch.make_graphed_callables",
)
def _make_graphed(call: Call) -> Value:
    """Warms up, captures forward (and backward) and returns callables that replay."""
    target, sample = call.get(0, "callables"), call.get(1, "sample_args")
    if target is None:
        return Unknown("graphed callable")
    given, _ = elements.of(call.m, sample) if sample is not None else ((), None)
    named = call.arguments.kwargs.get("sample_kwargs")
    if isinstance(target, Sequence_):
        made = []
        for index, part in enumerate(target.items):
            own = elements.of(call.m, given[index])[0] if index < len(given) else ()
            own_named = (
                named.items[index] if isinstance(named, Sequence_) and index < len(named.items) else None
            )
            made.append(_graphed(call, part, own, own_named))
        return Sequence_(made, "tuple", target.rest)
    return _graphed(call, target, given, named)


def _sample_arguments(sample: tuple[Value, ...], named: Value | None) -> Arguments:
    made = Arguments(list(sample))
    for key, value in named.entries() if isinstance(named, Mapping) else ():
        if isinstance(key, Const) and isinstance(key.value, str):
            made.kwargs[key.value] = value
    return made


def _graphed(call: Call, target: Value, sample: tuple[Value, ...], named: Value | None = None) -> Value:
    graph = new_graph(call.place)
    made = Obj("graphed", call.place)
    made.fields.update({"graph": graph, "wrapped": target, "sample": sample})
    call.m.emit(
        Called(
            place=call.place,
            what="make-graphed",
            target=target,
            arguments=sample,
            keywords=call.arguments.kwargs,
            data=hooks.first_place(target),
        )
    )
    _restore_forward(call, target)
    calls.call(call.m, target, _sample_arguments(sample, named), call.node, call.frame, call.place)
    captures.start(
        call.m, "make_graphed_callables", call.place, graph, pool=call.arguments.kwargs.get("pool")
    )
    call.m.captures[-1].facts["warmed"] = True
    try:
        made.fields["output"] = calls.call(
            call.m, target, _sample_arguments(sample, named), call.node, call.frame, call.place
        )
    finally:
        captures.end(call.m, call.place)
    _own_gradients(call, target, graph)
    return _in_place_of(call, target, made)


def _own_gradients(call: Call, target: Value, graph: Obj) -> None:
    """The gradients of a graphed module's parameters come in buffers of its graph, the same each time."""
    if isinstance(target, Obj):
        for parameter in nn.parameters_of(call.m, target, call.place):
            buffer = Tensor(Storage("cuda", call.place, graph), "float", parameter.ndim)
            call.m.memo["graphed gradient", parameter.storage.serial] = buffer
        if call.name.startswith("torch."):  # TransformerEngine returns copies
            gradients.note_graphed(call.m, graph)


def _restore_forward(call: Call, target: Value) -> None:
    """A module whose own `forward` the program may have put back is graphed where it has."""
    held = target.fields.get("?forward") if isinstance(target, Obj) else None
    if isinstance(target, Obj) and isinstance(held, Union):
        own = [part for part in held.values if not (isinstance(part, Obj) and part.cls == "graphed")]
        if own:
            call.m.heap.write(target.fields, "?forward", join_all(own))


def _in_place_of(call: Call, target: Value, made: Obj) -> Value:
    """A module keeps its identity: its own `forward` is what replays from now on."""
    if not isinstance(target, Obj) or not (isinstance(target.cls, str) or target.cls.is_module):
        return made
    call.m.heap.write(target.fields, "?forward", made)
    return target


@model("graphed.__call__")
def _call_graphed(call: Call) -> Value:
    graph = call.this.fields["graph"]
    call.m.emit(
        Called(
            place=call.place,
            what="graphed-call",
            target=call.this,
            arguments=tuple(call.args),
            keywords=call.arguments.kwargs,
            data=gradients.enabled(call.m),
        )
    )
    replays.replay(call.m, graph, call.place)
    output = call.this.fields.get("output")
    return (
        outputs.refreshed(call.m, output, call.place)
        if isinstance(output, Value)
        else Unknown("graphed output")
    )


@model("torch.cuda.is_current_stream_capturing", "torch.cuda.graphs.is_current_stream_capturing")
def _is_capturing(call: Call) -> Value:
    return TRUE if call.m.captures else FALSE


@model(
    "torch.compiler.is_compiling",
    "torch._dynamo.is_compiling",
    "torch.compiler.is_dynamo_compiling",
)
def _is_compiling(call: Call) -> Value:
    return TRUE if call.m.is_compiling else FALSE


@model("torch.jit.is_scripting", "torch.jit.is_tracing")
def _is_scripting(call: Call) -> Value:
    return FALSE


@model("torch.cuda.is_available")
def _available(call: Call) -> Value:
    return TRUE


@model("torch.get_device_module", "torch.accelerator.current_accelerator", "torch.cuda._get_device_module")
def _device_module(call: Call) -> Value:
    return External("torch.cuda")


@model("torch.device")
def _device(call: Call) -> Value:
    made = Obj("torch.device", call.place)
    named = tensor_ops.device_of(call.m, call.get(0, "type"))
    made.fields["type"] = named if isinstance(named, str) else None
    return made


@model("torch.set_default_device")
def _default_device(call: Call) -> Value:
    named = tensor_ops.device_of(call.m, call.get(0, "device"))
    call.m.memo["default-device"] = named if isinstance(named, str) else None
    return NONE


@model("torch.cuda.current_device", "torch.cuda.device_count")
def _count(call: Call) -> Value:
    return Host("int", Change.CONFIG, (call.name,))


@model("torch.compiler.cudagraph_mark_step_begin")
def _mark_step(call: Call) -> Value:
    """The next call of something unknown is a step of a compiled callable with CUDA graphs."""
    call.m.memo["marked-step"] = call.place
    call.m.memo.pop(autograd.AWAITED, None)
    return NONE
