"""`torch.compile`, Triton and custom operators: callables whose Python is not what runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphlint.analysis import calls, captures, deferral, gradients, roots, specialised, tensor_ops
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.libraries import autograd, nn, streams_events
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    NONE,
    Const,
    External,
    Function,
    Mapping,
    Obj,
    Partial,
    Sequence_,
    Tensor,
    Unknown,
    Value,
    is_none,
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@model("torch.compile")
def _compile(call: Call) -> Value:
    target = call.get(0, "model")
    if target is None or is_none(target):
        return Partial(External("torch.compile"), (), dict(call.arguments.kwargs))
    if call.flag(6, "disable"):
        return target
    made = Obj("compiled", call.place)
    made.fields["wrapped"] = target
    made.fields["cudagraphs"] = uses_cudagraphs(call)
    made.fields["mode"] = call.text(4, "mode")
    made.fields["warm"] = NONE
    is_automatic = is_none(call.get(2, "dynamic"))
    made.fields[specialised.DYNAMIC] = None if is_automatic else call.flag(2, "dynamic")
    if made.fields["cudagraphs"]:
        made.fields["graph"] = _own_graph(call.place)
    return made


def _own_graph(place: Place) -> Obj:
    graph = Obj("torch.cuda.CUDAGraph", place)
    graph.fields["stamp"] = 0
    graph.fields["trees"] = True
    return graph


def uses_cudagraphs(call: Call) -> bool:
    """Whether these arguments of `torch.compile` turn CUDA graphs on."""
    if call.flag(6, "disable"):
        return False
    if call.text(4, "mode") in operations.listed("compiled_modes"):
        return True
    if call.text(3, "backend") == "cudagraphs":
        return True
    options = call.arguments.kwargs.get("options")
    if isinstance(options, Mapping):
        entry = options.fields.get(("const", "triton.cudagraphs"))
        return entry is not None and isinstance(entry[1], Const) and bool(entry[1].value)
    if call.text(3, "backend", "inductor") != "inductor":
        return False
    switched = call.m.memo.get("inductor-cudagraphs")
    if isinstance(switched, Const):
        return bool(switched.value)
    return roots.switches_cudagraphs(call.frame.module)


@model("compiled.__call__")
def _call_compiled(call: Call) -> Value:
    """A compiled callable: cold the first time; with CUDA graphs its outputs live until its next call."""
    m, owner = call.m, call.this
    shapes = specialised.of_tensors(call.arguments)
    data = {
        "warm": is_warm(m, owner),
        "other": specialised.is_new(m, owner, shapes, sizes_adapt=True)
        or specialised.meets_new_parts(m, owner, call.arguments),
        "cudagraphs": owner.fields.get("cudagraphs"),
        "mode": owner.fields.get("mode"),
    }
    m.emit(Called(place=call.place, what="compiled", target=owner, arguments=call.arguments.all(), data=data))
    if not m.captures:
        m.heap.write(owner.fields, "warm", Const(True))
        specialised.note_run(m, owner, shapes)
        specialised.note_part(m, owner, call.arguments)
    value = _run_quietly(call, owner)
    graph = owner.fields.get("graph")
    if isinstance(graph, Obj) and not m.captures:
        return _fresh_output(call, graph, value)
    return value


def is_warm(m: Machine, owner: Obj) -> bool | None:
    """Whether compiled or tuned code has run before; None when it ran on some ways here, or on a lost one."""
    warm = owner.fields.get("warm")
    if not isinstance(warm, Const) or (warm.value is not True and (m.lost or deferral.is_in_lost_call(m))):
        return None
    return warm.value is True


def _run_quietly(call: Call, owner: Obj) -> Value:
    """The result of the wrapped callable: inside, the compiler guards host values, so nothing is told."""
    m = call.m
    if owner.fields.get("cudagraphs") and not m.captures:
        return _record(call, owner)
    with m.compiling():
        return _run_wrapped(call, owner)


def _run_wrapped(call: Call, owner: Obj) -> Value:
    return calls.call(call.m, owner.fields["wrapped"], call.arguments, call.node, call.frame, call.place)


def _record(call: Call, owner: Obj) -> Value:
    """A call of a compiled callable with CUDA graphs records; only what it leaves behind matters."""
    m, graph = call.m, owner.fields["graph"]
    m.memo.pop("marked-step", None)
    is_first = graph.fields.get("record") is None
    captures.start(m, "torch.compile", owner.site or call.place, graph, compiled=True, told=is_first)
    try:
        with m.compiling():
            return _run_wrapped(call, owner)
    finally:
        captures.end(m, call.place, told=is_first)


def _fresh_output(call: Call, graph: Obj, value: Value) -> Value:
    m = call.m
    if autograd.AWAITED not in m.memo:
        m.heap.write(graph.fields, "stamp", graph.fields.get("stamp", 0) + 1)
    _stamp_left_behind(graph)
    made = _output_like(call, graph, value)
    if _awaits_backward(call, value):
        m.memo[autograd.AWAITED] = True
        gradients.note_graphed(m, graph)
        for tensor in tensors_in(made, 2):
            tensor.trained, tensor.through = True, frozenset({graph})
    return made


def _awaits_backward(call: Call, value: Value) -> bool:
    """Whether the compiler has made a backward for this call, as far as its inputs and outputs tell."""
    m, wrapped = call.m, call.this.fields["wrapped"]
    made = [each for each in tensors_in(value, 2) if each.kind not in ("bool", "int", "byte")]
    if not made or not gradients.enabled(m):
        return False
    given = [each for argument in call.arguments.all() for each in tensors_in(argument, 1)]
    of_module = nn.parameters_of(m, wrapped, call.place) if isinstance(wrapped, Obj) else []
    return any(gradients.flows_into(m, each) for each in [*made, *given, *of_module])


def _stamp_left_behind(graph: Obj) -> None:
    """What this call stored in attributes, items or globals lives until the next call, like outputs."""
    record = graph.fields.get("record")
    if not isinstance(record, Capture):
        return
    for write in (w for w in record.written.values() if not w.local):
        for tensor in tensors_in(write.value, 2):
            if tensor.storage.graph is graph and tensor.stamp == 0:
                tensor.stamp = graph.fields["stamp"]
                tensor.taken = tensor.kept = write.place


def _output_like(call: Call, graph: Obj, value: Value, depth: int = 3) -> Value:
    """The same structure, its tensors being this call's outputs."""
    if isinstance(value, Sequence_) and depth:
        items = [_output_like(call, graph, item, depth - 1) for item in value.items]
        rest = _output_like(call, graph, value.rest, depth - 1) if value.rest is not None else None
        return Sequence_(items, value.kind, rest)
    if isinstance(value, Mapping) and depth:
        made = Mapping(value.site)
        for key, (name, part) in value.fields.items():
            made.fields[key] = (name, _output_like(call, graph, part, depth - 1))
        return made
    if isinstance(value, (Const, Mapping, Obj)):
        return value
    return output(call.m, graph, call.place, value if isinstance(value, Tensor) else None)


def output(m: Machine, graph: Obj, place: Place, like: Tensor | None = None) -> Tensor:
    made = m.tensor("cuda", place, like.kind if like else None, like.ndim if like else None)
    made.storage.graph = graph
    m.has_graphs = True
    made.stamp, made.taken = graph.fields["stamp"], place
    return made


def unknown_step(m: Machine, place: Place) -> Tensor | None:
    """A call after `cudagraph_mark_step_begin()`: it replays, its output lives until the next one.

    A method of something that is not known is no such call: what was compiled is called by its own name.
    """
    if m.captures or "marked-step" not in m.memo or not _is_called_itself(m, place):
        return None
    del m.memo["marked-step"]
    key = ("step", id(place.node))
    graph = m.memo.get(key)
    if not isinstance(graph, Obj):
        graph = m.memo[key] = _own_graph(place)
    m.heap.write(graph.fields, "stamp", graph.fields.get("stamp", 0) + 1)
    return output(m, graph, place)


def _is_called_itself(m: Machine, place: Place) -> bool:
    """Whether a call is of a name, or of what a field of an object of the project holds."""
    function = getattr(place.node, "func", None)
    if not isinstance(function, ast.Attribute):
        return True
    owner = m.frame.env.fields.get(function.value.id) if isinstance(function.value, ast.Name) else None
    return isinstance(owner, Obj) and not isinstance(owner.cls, str)


@model("torch._dynamo.mark_dynamic", "torch._dynamo.maybe_mark_dynamic", "torch._dynamo.mark_unbacked")
def _mark_dynamic(call: Call) -> Value:
    call.m.memo[specialised.MARKED] = True
    return NONE


# Triton


@model(
    "triton.jit",
    "triton.heuristics",
    "triton.language.core.jit",
    "triton.experimental.gluon.jit",
    "numba.cuda.jit",
    "cute.jit",
    "cute.kernel",
    "cutlass.jit",
    "cutlass.cute.jit",
    "cutlass.cute.kernel",
    "tilelang.jit",
    "helion.kernel",
    "cuda.tile.kernel",
    "cuda.tile.function",
)
def _jit(call: Call) -> Value:
    return _kernel(call, tuned=False)


@model("triton.autotune")
def _autotune(call: Call) -> Value:
    made = Obj("kernel-decorator", call.place)
    made.fields["tuned"] = Const(True)
    made.fields["key"] = call.get(1, "key") or NONE
    return made


@model("kernel-decorator.__call__")
def _decorate(call: Call) -> Value:
    made = _kernel(call, tuned=call.this.fields.get("tuned") is not None)
    if isinstance(made, Obj):
        made.fields.setdefault("key", call.this.fields.get("key", NONE))
    return made


def _kernel(call: Call, *, tuned: bool) -> Value:
    """Device code as a value: it is launched, never entered."""
    wrapped = call.args[0] if call.args else None
    if wrapped is None:
        made = Obj("kernel-decorator", call.place)
        made.fields["by"] = call.name
        return made
    if isinstance(wrapped, Obj) and wrapped.cls == "triton.kernel":
        wrapped.fields["tuned"] = Const(tuned or isinstance(wrapped.fields.get("tuned"), Const))
        return wrapped
    made = Obj("triton.kernel", call.place)
    made.fields["wrapped"] = wrapped
    made.fields["by"] = call.this.fields.get("by") if isinstance(call.owner, Obj) else call.name
    made.fields["tuned"] = Const(True) if tuned else NONE
    made.fields["warm"] = NONE
    return made


@model("triton.kernel.__call__")
def _call_device_code(call: Call) -> Value:
    """Device code called without a grid launches itself, or gives what will launch it."""
    made = Obj("launcher", call.place)
    made.fields["kernel"] = call.this
    _launch(replace(call, owner=made))
    return made


@model("launcher.launch")
def _launch_with(call: Call) -> Value:
    return NONE


@model("launcher.__call__")
def _launch(call: Call) -> Value:
    """`kernel[grid](...)`: host numbers among the arguments and in the grid are recorded."""
    m, kernel = call.m, call.this.fields.get("kernel")
    event = Called(place=call.place, what="launch", target=NONE, arguments=call.arguments.all())
    event.data = {"tuned": _is_tuned(kernel), "warm": False}
    if isinstance(kernel, Obj):
        keys = specialised.of_keys(kernel, call.arguments)
        event.target = kernel
        event.data["warm"] = is_warm(m, kernel)
        event.data["other"] = specialised.is_new(m, kernel, keys, sizes_adapt=False)
        if not m.captures:
            m.heap.write(kernel.fields, "warm", Const(True))
            specialised.note_run(m, kernel, keys)
    m.emit(event)
    given = [t for value in call.arguments.all() for t in tensors_in(value, 1)]
    tensor_ops.note_use(m, given, call.place)
    if m.captures:
        m.captures[-1].work += 1
    constants = _constexpr_names(kernel)
    values = [*call.args, *(v for k, v in call.arguments.kwargs.items() if k not in constants)]
    grid = call.this.fields.get("grid")
    if isinstance(kernel, Obj) and kernel.fields.get("by") == "numba.cuda.jit" and not _names_stream(grid):
        streams_events.judge_own_stream(call, "numba")
    for value in [*values, *([grid] if isinstance(grid, Value) else [])]:
        if not tensor_ops.any_tensor(value):
            tensor_ops.host_use(m, call.node, value, "launch", call.frame)
    return NONE


def _names_stream(configuration: object) -> bool:
    """Whether a launch of Numba says on which stream: `kernel[blocks, threads, stream]`."""
    return (
        not isinstance(configuration, Sequence_)
        or configuration.rest is not None
        or len(configuration.items) > 2
    )


def _is_tuned(kernel: object) -> bool:
    tuned = kernel.fields.get("tuned") if isinstance(kernel, Obj) else None
    return isinstance(tuned, Const) and tuned.value is True


def _constexpr_names(kernel: object) -> frozenset[str]:
    wrapped = kernel.fields.get("wrapped") if isinstance(kernel, Obj) else None
    if not isinstance(wrapped, Function):
        return frozenset()
    args = wrapped.node.args
    return frozenset(
        a.arg
        for a in [*args.args, *args.kwonlyargs]
        if a.annotation and "constexpr" in ast.dump(a.annotation)
    )


# callables that run others


@model("torch.utils.checkpoint.checkpoint", "torch.vmap.__call__", "torch.func.functional_call")
def _run_first(call: Call) -> Value:
    """Functions that call their first argument with the others."""
    if not call.args:
        return Unknown(call.name)
    call.m.emit(
        Called(place=call.place, what="checkpoint", target=call.args[0], keywords=call.arguments.kwargs)
    )
    arguments = Arguments(call.args[1:], {}, call.arguments.more)
    return calls.call(call.m, call.args[0], arguments, call.node, call.frame, call.place)
