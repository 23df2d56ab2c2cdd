"""Custom operators with a Python body: `torch.ops.ns.name(...)` runs it; fakes never run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from graphlint.analysis import attributes, calls, registration
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Const, Function, Obj, Partial, Unknown, Value
from graphlint.facts import nodes as ast
from graphlint.facts.walking import walk
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.arguments import Arguments
    from graphlint.analysis.frames import Place
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile
    from graphlint.profiles import Operator

LIBRARY = "torch.library.Library"
_MOST_FILES = 24


@model(
    "torch.library.custom_op",
    "torch.library.triton_op",
    "torch.library.register_kernel",
    "torch.library.impl",
)
def _custom_op(call: Call) -> Value:
    """A function, or a decorator of one, for the operator `ns::name` or `name` of a library."""
    first = call.args[0] if call.args else None
    if isinstance(first, Obj) and first.cls == LIBRARY:
        return _for_name(call, _qualified(first, call.text(1, "name")), 2)
    name = call.text(0, "qualname") or call.text(0, "name") or call.text(0, "op")
    return _for_name(call, name, 1)


def _for_name(call: Call, name: str, at: int) -> Value:
    """Register for `name`; the argument at `at` is the dispatch key or device, unless it is the function."""
    key = call.args[at] if len(call.args) > at else None
    kind = attributes.host_string(key) if key is not None else call.text(99, "dispatch_key")
    named = call.arguments.kwargs.get("func") or call.arguments.kwargs.get("fn")
    function = named or next((a for a in call.args[at:] if isinstance(a, (Function, Partial))), None)
    if (kind or "").lower() in operations.listed("dispatch_keys_elsewhere"):
        return function or Obj("identity-decorator", call.place)
    if function is not None:
        return _register(call, name, function)
    made = Obj("custom-op-decorator", call.place)
    made.fields["name"] = Const(name)
    return made


@model("custom-op-decorator.__call__")
def _register_decorated(call: Call) -> Value:
    name = call.this.fields["name"]
    return _register(call, str(name.value), call.args[0]) if call.args else Unknown("operator")


def _register(call: Call, name: str, body: Value) -> Value:
    return _registered(call.m, name, body, call.place)


def _registered(m: Machine, name: str, body: Value, place: Place) -> Value:
    made = Obj("custom-op", place)
    made.fields["wrapped"] = body
    made.fields["name"] = Const(name)
    m.memo[("custom-op", name.replace("::", "."))] = made
    return made


def register(m: Machine, operator: Operator, arguments: Arguments, place: Place) -> Value:
    """A call of a framework's function that registers an operator: its body is followed, never its fake."""

    def given(parameter: str) -> Value | None:
        known = parameter in operator.parameters
        return arguments.get(operator.parameters.index(parameter) if known else 99, parameter)

    name, body, library = given(operator.name), given(operator.body), given(operator.library)
    text = attributes.host_string(name) if name is not None else None
    if text and isinstance(body, (Function, Partial, Obj)):
        qualified = f"{operator.namespace}::{text}"
        if isinstance(library, Obj) and library.cls == LIBRARY:
            qualified = _qualified(library, text)
        _registered(m, text if "::" in text else qualified, body, place)
    return NONE


@model(LIBRARY)
def _library(call: Call) -> Value:
    made = Obj(LIBRARY, call.place)
    made.fields["namespace"] = Const(call.text(0, "ns"))
    return made


def _qualified(library: Obj, name: str) -> str:
    namespace = library.fields["namespace"]
    return name if "::" in name else f"{namespace.value}::{name}"


@model(f"{LIBRARY}.impl")
def _library_impl(call: Call) -> Value:
    """`lib.impl("name", function, "CUDA")`, the name perhaps with an overload."""
    body = call.get(1, "fn")
    key = call.text(2, "dispatch_key")
    name = call.text(0, "op_name") or call.text(0, "name")
    if body is not None and name and key.lower() not in operations.listed("dispatch_keys_elsewhere"):
        _register(call, _qualified(call.this, name), body)
    return NONE


@model(
    f"{LIBRARY}.define",
    f"{LIBRARY}._register_fake",
    "torch.library.define",
    "torch.library.opcheck",
)
def _nothing(call: Call) -> Value:
    return NONE


@model("custom-op.register_kernel")
def _register_kernel(call: Call) -> Value:
    name = call.this.fields["name"]
    return _for_name(call, str(name.value), 0)


@model(
    *[f"custom-op.register_{what}" for what in ("fake", "autograd", "vmap", "torch_dispatch")],
    *[
        f"torch.library.{what}"
        for what in ("register_fake", "register_autograd", "impl_abstract", "register_vmap")
    ],
)
def _fake(call: Call) -> Value:
    """What the compiler and autograd are told about an operator: none of it runs when it is called."""
    given = next((a for a in call.args if isinstance(a, Function)), None)
    return given or Obj("identity-decorator", call.place)


# calling


@model("custom-op.__call__")
def _call_custom_op(call: Call) -> Value:
    """The body of a custom operator is never compiled: what it does is told, also inside compiled code."""
    with call.m.telling():
        body = call.this.fields["wrapped"]
        return calls.call(call.m, body, call.arguments, call.node, call.frame, call.place)


def call_operator(call: Call) -> Value | None:
    """`torch.ops.ns.name(...)` or `.overload(...)`; None when the project has no Python body for it."""
    parts = call.name.split(".")[2:]
    if len(parts) < 2 or is_builtin(call.name):
        return None
    body = _body(call.m, parts)
    if body is None:
        return None
    return _call_custom_op(Call(call.m, "custom-op.__call__", body, call.arguments, call.place, call.frame))


def is_builtin(name: str) -> bool:
    """Whether an operator is one of PyTorch's own."""
    return name.split(".")[2:3] in (["aten"], ["prims"], ["higher_order"])


def _body(m: Machine, parts: list[str]) -> Obj | None:
    names = [".".join(parts), ".".join(parts[:2])]
    for _ in range(2):
        for name in names:
            made = m.memo.get(("custom-op", name))
            if isinstance(made, Obj):
                return made
        if ("searched-op", names[1]) in m.memo:
            return None
        m.memo[("searched-op", names[1])] = NONE
        _run_registrations(m, parts[0], parts[1])
    return None


def _run_registrations(m: Machine, namespace: str, name: str) -> None:
    """Run the top-level statements of the project that may register an operator."""
    with m.before_everything():
        for module in islice(m.project.quoting(name), _MOST_FILES):
            for statement in _registrations(module, namespace, name):
                registration.run(m, module, statement)


def _registrations(module: ModuleFile, namespace: str, name: str) -> Iterator[ast.stmt]:
    for statement in module.tree.body:
        if isinstance(statement, ast.ClassDef):
            continue
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            told = [part for item in statement.decorator_list for part in walk(item)]
            if statement.decorator_list and (statement.name == name or _says(told, namespace, name)):
                yield statement
        elif _says(walk(statement), namespace, name):
            yield statement


def _says(nodes: object, namespace: str, name: str) -> bool:
    """Whether a text names the operator: `name`, `ns::name`, or either with its schema."""
    for node in nodes:  # type: ignore[attr-defined]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.partition("(")[0].partition(".")[0].strip()
            if text in (name, f"{namespace}::{name}"):
                return True
    return False
