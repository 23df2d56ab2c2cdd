"""The standard library, as far as it carries values and callables or costs a captured region something."""

from __future__ import annotations

from graphlint.analysis import (
    arithmetic,
    calls,
    contexts,
    elements,
    equality,
    generators,
    gradients,
    indexing,
    item_writes,
    lazies,
    lifetimes,
    names,
    orders,
    suspension,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.events import Called
from graphlint.analysis.heap import MISSING
from graphlint.analysis.identities import identity_of
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import change_of, tensors_in
from graphlint.analysis.values import (
    NONE,
    Change,
    Class,
    Const,
    Function,
    Host,
    Mapping,
    Obj,
    Partial,
    Sequence_,
    Unknown,
    Value,
    alternatives,
    join_all,
)
from graphlint.rules import operations


@model("functools.partial", "functools.partialmethod")
def _partial(call: Call) -> Value:
    if not call.args:
        return Unknown("partial")
    return Partial(call.args[0], tuple(call.args[1:]), dict(call.arguments.kwargs))


@model("functools.wraps", "functools.update_wrapper")
def _wraps(call: Call) -> Value:
    made = Obj("identity-decorator", call.place)
    if call.args:
        made.fields["wrapped"] = call.args[0]
    return made


@model(
    "torch.no_grad",
    "torch.inference_mode",
    "torch.enable_grad",
    "torch.set_grad_enabled",
    "contextlib.nullcontext",
    "contextlib.suppress",
    "contextlib.closing",
    "torch.profiler.record_function",
    "torch.autograd.profiler.record_function",
    "torch.jit.ignore",
    "torch.jit.unused",
    "torch.cuda.nvtx.range",
    "torch.cuda.device",
    "torch.cuda.use_mem_pool",
    "warnings.catch_warnings",
    "unittest.mock.patch",
)
def _context(call: Call) -> Value:
    """A context that is also a decorator which leaves the function as it is."""
    if call.args and isinstance(call.args[0], Function):
        gradients.note_wrapped(call.m, call.name, call.args[0])
        return call.args[0]
    made = Obj(call.name, call.place)
    made.fields.update({"args": tuple(call.args), "kwargs": dict(call.arguments.kwargs)})
    return made


@model(
    "torch.no_grad.__call__",
    "torch.inference_mode.__call__",
    "torch.enable_grad.__call__",
    "torch.set_grad_enabled.__call__",
    "identity-decorator.__call__",
    "torch.autocast.__call__",
    "torch.amp.autocast.__call__",
    "torch.cuda.nvtx.range.__call__",
    "torch.profiler.record_function.__call__",
)
def _identity(call: Call) -> Value:
    if not call.args:
        return Unknown("decorator")
    if isinstance(call.owner, Obj) and not call.owner.fields.get("args"):  # not `inference_mode(False)`
        gradients.note_wrapped(call.m, call.name, call.args[0])
    return call.args[0]


@model(
    "abc.abstractmethod",
    "typing.final",
    "typing.overload",
    "typing.runtime_checkable",
    "dataclasses.dataclass",
    "torch.jit.export",
    "functools.total_ordering",
    "typing.no_type_check",
    "torch.compiler.disable",
    "torch._dynamo.disable",
    "torch.compiler.allow_in_graph",
    "torch.fx.wrap",
    "torch.jit.script",
)
def _kept(call: Call) -> Value:
    return call.args[0] if call.args else Obj("identity-decorator", call.place)


AT_EXIT = "at exit"


@model("atexit.register")
def _at_exit(call: Call) -> Value:
    """What the interpreter calls last; also a decorator that leaves the function as it is."""
    if not call.args:
        return Unknown("function")
    leaving = Partial(call.args[0], tuple(call.args[1:]), dict(call.arguments.kwargs))
    call.m.memo.setdefault(AT_EXIT, []).append((leaving, call.place))
    return call.args[0]


@model("typing.cast")
def _cast(call: Call) -> Value:
    return call.args[1] if len(call.args) > 1 else Unknown("cast")


@model("functools.lru_cache", "functools.cache")
def _cache(call: Call) -> Value:
    if call.args and isinstance(call.args[0], Function):
        return _cached(call, call.args[0])
    made = Obj("cache-decorator", call.place)
    made.fields["most"] = call.get(0, "maxsize") or NONE
    return made


@model("cache-decorator.__call__")
def _apply_cache(call: Call) -> Value:
    if not call.args:
        return Unknown("cache")
    made = _cached(call, call.args[0])
    made.fields["most"] = call.this.fields["most"]
    return made


def _cached(call: Call, function: Value) -> Obj:
    """One cache for each function, however often its decorator is looked at."""
    key = ("cached-function", _identity_of_function(function))
    made = call.m.memo.get(key)
    if not isinstance(made, Obj):
        made = call.m.memo[key] = Obj("cached-function", call.place)
        made.fields["wrapped"] = function
        made.fields["elements"] = Mapping(call.place)
    return made


def _identity_of_function(function: Value) -> object:
    if not isinstance(function, Function):
        return id(function)
    owner = function.self_value
    return (id(function.node), id(function.env), owner.serial if isinstance(owner, Obj) else 0)


@model("cached-function.__call__")
def _call_cached(call: Call) -> Value:
    """A memoised function: the result of the first call with equal arguments, kept by the cache alone."""
    results = call.this.fields["elements"]
    key = Sequence_(call.arguments.all(), "tuple")
    found = equality.contains(results, key)
    # Captured code asks for what warm-up asked for: an argument that only seems new is taken to be known.
    if found or (found is None and call.m.captures):
        return indexing.get_item(call.m, results, key, call.node, call.frame)
    if found is False:
        lazies.note_absent(call.m, results.fields, identity_of(key))
    value = calls.call(call.m, call.this.fields["wrapped"], call.arguments, call.node, call.frame, call.place)
    for tensor in tensors_in(value, 1):
        tensor.storage.owner = tensor.storage.owner or "cache"
    item_writes.set_item(call.m, results, key, value, lazies.origin(value) or call.place)
    _evict(call, results)
    return value


def _evict(call: Call, results: Mapping) -> None:
    """A full cache drops what it was asked for first; only keys that are known count."""
    most = call.this.fields.get("most", NONE)
    keys = list(results.fields)
    if not isinstance(most, Const) or not isinstance(most.value, int) or len(keys) <= most.value:
        return
    if not all(_is_known(key) for key, _ in results.entries()):
        return
    dropped = Mapping(call.place)
    for key in keys[: len(keys) - most.value]:
        dropped.fields[key] = results.fields[key]
        call.m.heap.write(results.fields, key, MISSING)
    lifetimes.at_clear(call.m, dropped, call.place)


def _is_known(key: Value) -> bool:
    return isinstance(key, Sequence_) and all(isinstance(part, Const) for part in key.elements())


@model("cached-function.cache_clear")
def _cache_clear(call: Call) -> Value:
    call.m.emit(Called(place=call.place, what="cache-clear", target=call.this))
    held = call.this.fields["elements"]
    call.m.heap.write(call.this.fields, "elements", Mapping(call.place))
    lifetimes.at_clear(call.m, held, call.place)
    return NONE


@model("contextlib.contextmanager", "contextlib.asynccontextmanager")
def _contextmanager(call: Call) -> Value:
    made = Obj("context-factory", call.place)
    if call.args:
        made.fields["wrapped"] = call.args[0]
    return made


@model("context-factory.__call__")
def _make_context(call: Call) -> Value:
    wrapped = call.this.fields.get("wrapped")
    value = (
        calls.call(call.m, wrapped, call.arguments, call.node, call.frame, call.place) if wrapped else None
    )
    if isinstance(value, Obj) and value.cls == "generator":
        made = Obj("context", call.place)
        made.fields.update(value.fields)
        return made
    return value if value is not None else Unknown("context")


@model("context.__call__")
def _decorate_with_context(call: Call) -> Value:
    return call.args[0] if call.args else Unknown("context")


@model("contextlib.ExitStack", "contextlib.AsyncExitStack")
def _exit_stack(call: Call) -> Value:
    return Obj("contextlib.ExitStack", call.place)


@model("contextlib.ExitStack.enter_context")
def _enter_context(call: Call) -> Value:
    value = call.get(0, "cm")
    if value is None:
        return Unknown("context")
    return contexts.enter_on_stack(call.m, call.this, value, call.place, call.frame)


@model("contextlib.ExitStack.callback", "contextlib.ExitStack.push")
def _exit_callback(call: Call) -> Value:
    if call.args:
        function, rest = call.args[0], Arguments(call.args[1:], call.arguments.kwargs)
        later = lambda: calls.call(call.m, function, rest, call.node, call.frame)  # noqa: E731
        call.this.fields.setdefault("exits", []).append(later)
    return NONE


@model("contextlib.ExitStack.close", "contextlib.ExitStack.__exit__")
def _exit_close(call: Call) -> Value:
    contexts.leave_stack(call.this)
    return NONE


@model("itertools.chain", "itertools.chain.from_iterable")
def _chain(call: Call) -> Value:
    sources = call.args
    if call.name.endswith("from_iterable") and call.args:
        sources = elements.all_elements(call.m, call.args[0])
    items: list[Value] = []
    more: list[Value] = []
    for source in sources:
        known, rest = elements.of(call.m, source)
        items.extend(known)
        more.extend([rest] if rest is not None else [])
    return Sequence_(items, "list", join_all(more) if more else None)


@model(
    "itertools.islice",
    "itertools.cycle",
    "itertools.accumulate",
    "tqdm.tqdm",
    "tqdm.auto.tqdm",
    "tqdm.std.tqdm",
    "tqdm.notebook.tqdm",
    "rich.progress.track",
)
def _same_elements(call: Call) -> Value:
    return call.args[0] if call.args else Unknown(call.name)


@model("itertools.takewhile", "itertools.dropwhile", "itertools.filterfalse")
def _some_elements(call: Call) -> Value:
    """Some of the elements, in their order."""
    source = call.get(1, "iterable") or Unknown("iterable")
    made = Sequence_((), "list", elements.joined_elements(call.m, source), change_of(source))
    orders.note(call.m, made, orders.of(call.m, source))
    return made


@model("itertools.count")
def _count(call: Call) -> Value:
    made = Sequence_((), "list", Host("int", Change.CHANGING), Change.CHANGING)
    step = call.get(1, "step") or Const(1)
    if isinstance(step, Const) and isinstance(step.value, int):
        orders.note(call.m, made, "ascending" if step.value > 0 else "descending")
    return made


@model("dataclasses.fields")
def _fields(call: Call) -> Value:
    """The fields of a record or of its class, of which programs use the names."""
    value = call.args[0] if call.args else NONE
    info = value.info if isinstance(value, Class) else value.cls if isinstance(value, Obj) else None
    if info is None or isinstance(info, str):
        return Unknown("fields")
    made = []
    for name in info.record_fields():
        made.append(Obj("dataclasses.Field", call.place))
        made[-1].fields["name"] = Const(name)
    return Sequence_(made, "tuple")


@model("dataclasses.replace")
def _replace(call: Call) -> Value:
    """`dataclasses.replace(record, ...)`, and `record._replace(...)` of a named tuple."""
    value = call.owner or (call.args[0] if call.args else Unknown("replace"))
    if isinstance(value, Obj):
        made = Obj(value.cls, call.place)
        made.fields.update(value.fields)
        made.fields.update(call.arguments.kwargs)
        return made
    return value


@model("gc.collect", "gc.freeze", "gc.unfreeze", "gc.disable", "gc.enable", "time.sleep")
def _host_effect(call: Call) -> Value:
    effect = operations.mapped("host_effects").get(call.name)
    call.m.emit(Called(place=call.place, what="host-effect", target=NONE, data=effect))
    return NONE


@model("importlib.import_module", "builtins.__import__")
def _import_module(call: Call) -> Value:
    package = call.text(1, "package")
    written = call.get(0, "name")
    texts = [_text(each) for each in alternatives(written)] if written is not None else []
    return join_all(_imported(call, text, package) for text in texts) if texts else Unknown("import")


def _text(value: Value) -> str:
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else ""


def _imported(call: Call, dotted: str, package: str) -> Value:
    if dotted.startswith("."):
        dotted = f"{package}{dotted}" if package and not dotted.startswith("..") else ""
    return names.module_value(call.m, call.frame.module, dotted) if dotted else Unknown("computed import")


@model("bisect.bisect_left", "bisect.bisect_right", "bisect.bisect")
def _bisect(call: Call) -> Value:
    if not call.args:
        return Host("int")
    call.m.emit(Called(place=call.place, what="bisect", target=call.args[0]))
    return arithmetic.derived("bisect", *call.args, kind="int")


@model("host.format", "host.join")
def _format(call: Call) -> Value:
    for value in call.arguments.all():
        tensor_ops.formatted(call.m, call.node, value, call.frame, "str.format")
    return Host("str")


@model(
    "logging.getLogger.info",
    "logging.Logger.info",
    "logging.info",
    "logging.debug",
    "logging.warning",
    "logging.error",
    "logging.Logger.debug",
    "logging.Logger.warning",
    "logging.Logger.error",
)
def _log(call: Call) -> Value:
    """Arguments of a logging call are formatted when the record is emitted."""
    for value in call.arguments.all():
        tensor_ops.formatted(call.m, call.node, value, call.frame, "logging")
    return NONE


@model("logging.getLogger")
def _logger(call: Call) -> Value:
    return Obj("logging.Logger", call.place)


@model("os.getenv", "os.environ.get")
def _environment(call: Call) -> Value:
    return Host("any", Change.CONFIG, ("environ", call.text(0, "key") or id(call.node)))


@model("weakref.ref", "weakref.proxy")
def _weakref(call: Call) -> Value:
    made = Obj("weakref", call.place)
    if call.args:
        made.fields["wrapped"] = call.args[0]
    return made


@model("weakref.__call__")
def _dereference(call: Call) -> Value:
    value = call.this.fields.get("wrapped")
    return value if isinstance(value, Value) else Unknown("weak reference")


@model("generator.send", "generator.__next__")
def _send(call: Call) -> Value:
    """The first call runs a generator to its first `yield`, the next one runs what is left."""
    if not generators.is_project(call.this):
        return Unknown("generator")
    resume = call.this.fields.pop("?resume", None)
    if callable(resume):
        resume()
        return Unknown("sent value")
    value, call.this.fields["?resume"] = suspension.enter(call.m, call.this)
    return value


@model("types.SimpleNamespace", "argparse.Namespace")
def _namespace(call: Call) -> Value:
    made = Obj(call.name, call.place)
    made.fields.update(call.arguments.kwargs)
    return made
