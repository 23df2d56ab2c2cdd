"""Attributes: getting them from every kind of value; `storing` sets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    arrays,
    calls,
    cells,
    class_members,
    classes,
    deferral,
    definitions,
    effects,
    functions,
    hints,
    host,
    last_captures,
    lazies,
    library,
    many,
    names,
    outputs,
    storing,
    supers,
    synthesis,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.values import (
    GRAPH_CONTEXT,
    Change,
    Class,
    Const,
    External,
    Fields,
    Function,
    Mapping,
    Module,
    Obj,
    Partial,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    is_none,
    join_all,
)
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def get(m: Machine, owner: Value, name: str, node: ast.AST, frame: Frame) -> Value:
    """`owner.name`."""
    if type(owner) is Union:
        parts = [p for p in owner.values if not is_none(p)]
        return join_all(get(m, part, name, node, frame) for part in parts)
    if name == "__call__" and _is_called_as_it_is(owner):
        return owner
    if type(owner) is Obj:
        return _of_object(m, owner, name, node, frame)
    if type(owner) is Tensor:
        if name in m.fields_of_tensor(owner):
            return read_cell(m, m.fields_of_tensor(owner), name, frame.place(node), owner)
        return library.tensor_attribute(m, owner, name, node, frame)
    if type(owner) is Module:
        return _of_module(m, owner, name, frame.place(node))
    if type(owner) is External:
        return _of_external(m, owner, name)
    if type(owner) is Class:
        return class_members.of_class(m, owner, name, frame)
    if type(owner) is Unknown:
        if owner.typed == "numpy" and name in operations.listed("numpy_reads"):
            arrays.read(m, [owner], frame.place(node))
        return many.get(m, owner, name, node, frame) or _of_unknown(m, owner, name)
    if type(owner) is Function and name in m.fields_of(owner):
        return read_cell(m, m.fields_of(owner), name, frame.place(node), owner)
    if type(owner) is Const and isinstance(owner.value, classes.EnumMember):
        return class_members.of_enum_member(m, owner, owner.value, name, frame.place(node))
    return _of_builtin(owner, name)


def _is_called_as_it_is(owner: Value) -> bool:
    """Whether `owner.__call__(...)` is `owner(...)`, which no class of the project says anything else of."""
    if isinstance(owner, Obj):
        return owner.cls != "super" if isinstance(owner.cls, str) else owner.cls.find("__call__") is None
    return isinstance(owner, (Function, Partial, External, Unknown))


def _of_external(m: Machine, owner: External, name: str) -> Value:
    if owner.name.startswith("Tensor."):
        return Unknown(f"attribute `{name}` of something that is no tensor")
    dotted = names.canonical(f"{owner.name}.{name}")
    constant = library.constant(dotted)
    return constant if constant is not None else External(dotted, owner.owner)


def _of_unknown(m: Machine, owner: Unknown, name: str) -> Value:
    """The same attribute of the same unknown value is one value."""
    key = ("attribute", owner.serial, name)
    if key not in m.memo:
        if owner.typed == "tensor" or library.is_tensor_method(name):
            m.memo[key] = External(f"Tensor.{name}", owner)
        elif name == "shape":
            m.memo[key] = _unknown_shape(owner)
        elif name == "zero_grad":
            m.memo[key] = External("torch.optim.Optimizer.zero_grad", owner)
        elif (member := host.member(owner, name)) is not None:
            m.memo[key] = member
        else:
            typed = GRAPH_CONTEXT if name == "graph" else library.array_method(owner, name)
            reason = f"attribute `{name}` of {owner.reason or 'an unknown value'}"
            m.memo[key] = Unknown(reason, owner.change, typed)
    value = m.memo[key]
    assert isinstance(value, Value)
    return value


def _unknown_shape(owner: Unknown) -> Obj:
    """Whatever has a shape, tensor or array, has host numbers in it."""
    made = Obj("torch.Size")
    made.serial = owner.serial
    return made


def _of_builtin(owner: Value, name: str) -> Value:
    if type(owner) is Sequence_:
        return External(f"builtins.{'list' if owner.kind != 'set' else 'set'}.{name}", owner)
    if type(owner) is Mapping:
        return External(f"builtins.dict.{name}", owner)
    if type(owner) is Function:
        if name == "__name__" and not isinstance(owner.node, ast.Lambda):
            return Const(owner.node.name)
        return External(f"function.{name}", owner)
    return External(f"host.{name}", owner)


def _of_module(m: Machine, owner: Module, name: str, place: Place) -> Value:
    value = names.module_attribute(m, owner.file, name)
    if value is None:
        found = m.project.submodule(owner.file.name, name)
        if found is not None:
            return Module(found)
        computed = names.computed_attribute(m, owner.file, name)
        return computed or Unknown(f"`{name}` of module {owner.file.name}")
    if m.captures:
        env = m.env_of(owner.file)
        cells.note_read(m, env.fields, name, value, place, None, name)
        value = cells.tainted(m, env.fields, name, value, place, None, name)
    return outputs.refreshed(m, value, place)


def _of_object(m: Machine, owner: Obj, name: str, node: ast.AST, frame: Frame) -> Value:
    if "?pending" in owner.fields:
        synthesis.initialise(m, owner)
    if not m.has_graphs and isinstance(held := owner.fields.get(name), Value):
        return held  # as `read_cell` does, as long as there is nothing that a read could find changed
    place = frame.place(node)
    if name in owner.fields:
        return read_field(m, owner, name, place)
    if owner.cls == "super":
        return supers.get(m, owner, name, node, frame)
    if isinstance(owner.cls, str):
        return library.object_attribute(m, owner, name, node, frame)
    if owner.serial in m.deferred and deferral.materialise(m, owner, name):
        return read_field(m, owner, name, place)
    member = _of_class_body(m, owner, name, frame, place)
    if member is not None:
        if is_none(member):
            lazies.note_absent(m, owner.fields, name)
        return _may_be_hidden(m, owner, name, member, place)
    if synthesis.find_field(m, owner, name):
        return read_field(m, owner, name, place)
    return _inherited(m, owner, name, place)


def _may_be_hidden(m: Machine, owner: Obj, name: str, member: Value, place: Place) -> Value:
    """What captured code reads from the class; the instance may be given a field of that name later."""
    if not m.captures or isinstance(member, (Function, Partial, External)):
        return member
    cells.note_read(m, owner.fields, name, member, place, owner, name)
    return cells.tainted(m, owner.fields, name, member, place, owner, name)


def read_field(m: Machine, owner: Obj, name: str, place: Place) -> Value:
    """A field of an object."""
    return read_cell(m, owner.fields, name, place, owner)


def read_cell(m: Machine, fields: Fields, name: str, place: Place, owner: Value) -> Value:
    """A cell of an object, class or function; captured code's reads are remembered."""
    value = fields[name]
    if not isinstance(value, Value):
        return Unknown("internal")
    if m.captures:
        cells.note_read(m, fields, name, value, place, owner, name)
        value = cells.tainted(m, fields, name, value, place, owner, name)
    else:
        effects.read(m, fields, name, value, place, name)
        last_captures.read(m, fields, name, value, place, name)
        if m.filled:
            cells.displaced(m, fields, name, value, place, name)
    return outputs.refreshed(m, value, place)


def _of_class_body(m: Machine, owner: Obj, name: str, frame: Frame, place: Place) -> Value | None:
    assert isinstance(owner.cls, ClassInfo)
    found = class_members.method(owner.cls, name)
    if found is not None:
        info, method = found
        if owner.label == "given" and many.is_open(owner.cls, info, method):
            return many.declared(m, owner.cls, info, method, place)
        if class_members.is_property(method):
            function = Function(method, info.module, info.env, f"{info.scope}.{name}", cls=info)
            value = functions.call_function(m, function.bind(owner), Arguments(), place)
            if _is_kept(method):
                lazies.note_absent(m, owner.fields, name)
                storing.stored(m, owner, owner.fields, name, value, lazies.origin(value) or place)
            return value
        return definitions.method_value(m, info, method, owner)
    if name == "__class__":
        return Class(owner.cls)
    if name == "__dict__":
        return External("object.__dict__", owner)
    if name == "_replace" and owner.cls.is_tuple_record:
        return External("dataclasses.replace", owner)
    held = class_members.class_cell(m, owner.cls, name, place, owner)
    return _through_instance(m, owner, held, place) if held is not None else None


def _through_instance(m: Machine, owner: Obj, value: Value, place: Place) -> Value:
    """A class attribute as an instance gives it: functions bound, descriptors asked."""
    if type(value) is Function and value.self_value is None:
        return value.bind(owner)
    if type(value) is Obj and value.cls == "builtins.property":
        return calls.call(m, value.fields["getter"], Arguments([owner]), place.node, m.frame, place)
    if type(value) is Obj and isinstance(value.cls, ClassInfo) and value.cls.find("__get__"):
        assert isinstance(owner.cls, ClassInfo)
        return functions.call_method(m, value, "__get__", [owner, Class(owner.cls)])
    return value


@summary
def _is_kept(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a property computes its value once."""
    return any("cached_property" in ast.unparse(decorator) for decorator in node.decorator_list)


def _inherited(m: Machine, owner: Obj, name: str, place: Place) -> Value:
    """What a library base class gives, else the annotation in the class body, else unknown."""
    assert isinstance(owner.cls, ClassInfo)
    for info in owner.cls.mro():
        if name in info.annotations:
            value = hints.value_of(m, info.annotations[name], info.module, Change.CONFIG, place)
            with m.heap.aside():
                owner.fields[name] = value
            return value
    if owner.cls.find("__getattr__") is not None and not library.is_module_method(name):
        return functions.call_method(m, owner, "__getattr__", [Const(name)])
    for dotted in owner.cls.externals():
        inherited = library.inherited_attribute(m, owner, dotted, name, place)
        if inherited is not None:
            return inherited
    key = ("missing", owner.serial, name)
    value = m.memo.setdefault(key, Unknown(f"attribute `{name}` of `{owner.cls.name}`"))
    assert isinstance(value, Value)
    return value


def host_string(value: Value) -> str | None:
    """The text of a constant string."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None
