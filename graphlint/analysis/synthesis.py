"""Making values that the program is given: instances nobody constructs in sight, missing fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    calls,
    definitions,
    frameworks,
    functions,
    generators,
    hints,
    instances,
    lives,
    many,
    names,
    only_calls,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo, Def
from graphlint.analysis.frames import Place
from graphlint.analysis.values import Change, Class, Const, Host, Obj, Unknown, Value, alternatives
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile

EARLY = ("init", "load", "setup", "set_up", "prepare", "build", "create", "alloc", "initialize", "configure")


def instance(m: Machine, info: ClassInfo, change: Change, place: Place) -> Obj:
    """The instance of a class that an annotation speaks of; its constructor runs when first needed.

    Within a scenario one such instance stands for every mention of the class, so that what one
    function does to it is seen by another.
    """
    return _given(m.instances, id(info.node), info, change, place)


def another(m: Machine, info: ClassInfo, change: Change, place: Place) -> Obj:
    """A second instance, for what holds several."""
    return _given(m.others, id(info.node), info, change, place)


def _given(known: dict[int, Obj], key: int, info: ClassInfo, change: Change, place: Place) -> Obj:
    made = known.get(key)
    if made is None:
        made = known[key] = Obj(info, place, "given")
        made.fields["?pending"] = change
    return made


def stated_object(m: Machine, module: ModuleFile, name: str) -> Obj | None:
    """The instance that a name of a module is at capture, where a profile names its class."""
    stated = frameworks.class_of_object(m, module, name)
    home = m.project.module(stated[0], module) if stated is not None else None
    cls = names.module_attribute(m, home, stated[1]) if stated is not None and home is not None else None
    if type(cls) is not Class:
        return None
    return instance(m, cls.info, Change.CONSTANT, Place(module, cls.info.node, "<module>"))


def initialise(m: Machine, owner: Obj) -> None:
    """Run the constructor of a given instance with arguments from its annotations."""
    with m.heap.aside():
        change = owner.fields.pop("?pending", None)
    assert isinstance(owner.cls, ClassInfo)
    found = owner.cls.find("__init__")
    with m.before_everything(), m.allowance():
        if found is None:
            place = owner.site or Place(owner.cls.module, owner.cls.node, owner.cls.scope)
            instances.record_fields(m, owner, owner.cls, _field_values(m, owner.cls, change, place), place)
            assume(m, owner)
            return
        info, node = found
        _run(m, owner, info, node, only_calls.keywords(m, owner.cls.module, owner.cls.name, node))
        many.loosen(m, owner)
        assume(m, owner)
        lives.capture_given(m, owner)


def fill_records(m: Machine, value: Value) -> None:
    """A value is looked into from outside: the records that the program is given have their fields then."""
    for owner in alternatives(value):
        if type(owner) is Obj and "?pending" in owner.fields and isinstance(owner.cls, ClassInfo):
            if owner.cls.is_record:
                initialise(m, owner)


def assume(m: Machine, owner: Obj) -> None:
    """Give the fields of an instance that a framework fixes at capture their value."""
    assert isinstance(owner.cls, ClassInfo)
    for name, constant in frameworks.assumed_fields(m, owner.cls):
        m.heap.write(owner.fields, name, Const(constant))
        for kept in m.deferred.get(owner.serial, ()):
            kept.fields.discard(name)  # what a constructor that was cut short would write does not count


def _field_values(m: Machine, info: ClassInfo, change: Change | None, place: Place) -> Arguments:
    """What the program gives a record besides defaults: parts that may be there, the numbers of each call."""
    arguments = Arguments()
    for name, (owner, annotation, default) in info.record_fields().items() if info.is_record else ():
        if type(default) is ast.Constant and default.value is None:
            arguments.kwargs[name] = hints.value_of(
                m, annotation, owner.module, change or Change.CONFIG, place
            )
        elif change is not Change.CHANGING:
            continue
        elif (default is None or type(default) is ast.Constant) and type(annotation) is ast.Name:
            value = hints.value_of(m, annotation, owner.module, change, place)
            if type(value) is Host:
                arguments.kwargs[name] = value
    return arguments


def renew(m: Machine, given: Value) -> None:
    """A call brings a record once more: its numbers that change from call to call are new ones.

    What the program itself has written into the record stays.
    """
    for owner in alternatives(given):
        if not (type(owner) is Obj and owner.label == "given" and isinstance(owner.cls, ClassInfo)):
            continue
        for name in owner.cls.record_fields() if owner.cls.is_record else ():
            value = owner.fields.get(name)
            written = (id(owner.fields), name) in m.writes
            if type(value) is Host and value.change is Change.CHANGING and not written:
                m.heap.write(owner.fields, name, Host(value.kind, value.change))


def _run(
    m: Machine, owner: Obj, info: ClassInfo, node: Def, keywords: dict[str, Value] | None = None
) -> None:
    """Run a method of a given instance, aside from the program's own course."""
    if len(m.frames) > m.MAX_DEPTH - 4:
        return
    place = Place(info.module, node, f"{info.scope}.{node.name}")
    frame = functions.top_frame(m, info)
    m.frames.append(frame)
    try:
        function = definitions.method_value(m, info, node, owner)
        calls.call(m, function, Arguments(kwargs=keywords or {}), node, frame, place)
    finally:
        m.frames.pop()


def find_field(m: Machine, owner: Obj, name: str) -> bool:
    """Run the method that sets a field which the constructor does not; True when the field is there then."""
    assert isinstance(owner.cls, ClassInfo)
    key = ("field", owner.serial, name)
    if key in m.memo:
        return name in owner.fields
    m.memo[key] = Unknown("searched")
    running = {id(f.function.node) for f in m.frames if f.function is not None}
    for info, node in _writers(owner.cls, name):
        if id(node) in running or _captures(node) or node.name == "__init__":  # that one has been run
            continue
        with m.before_everything(), m.allowance():
            _run(m, owner, info, node)
            assume(m, owner)
        if name in owner.fields:
            return True
    return False


def _writers(cls: ClassInfo, name: str) -> list[tuple[ClassInfo, Def]]:
    """Methods that assign `self.name`, those that prepare things first."""
    found = []
    for info in cls.mro():
        for method in info.methods.values():
            if name in written_fields(method):
                found.append((info, method))
    return sorted(found, key=lambda pair: not pair[1].name.lstrip("_").startswith(EARLY))[:3]


@summary
def written_fields(node: Def) -> frozenset[str]:
    """The names that a method assigns on its first parameter."""
    first = node.args.args[0].arg if node.args.args else ""
    return frozenset(
        part.attr
        for part in generators.own_nodes(node)
        if type(part) is ast.Attribute and type(part.ctx) is ast.Store
        if type(part.value) is ast.Name and part.value.id == first
    )


def _captures(node: Def) -> bool:
    """Whether a method's own text captures or replays: such a method is not run aside."""
    for part in generators.own_nodes(node):
        if type(part) is ast.Attribute and part.attr in operations.listed("graph_attributes"):
            return True
    return False
