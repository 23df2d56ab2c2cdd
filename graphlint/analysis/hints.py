"""Annotations: the abstract value of a type expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import class_members, expressions, frameworks, host, subclasses, synthesis
from graphlint.analysis.classes import ClassInfo, last_name
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.libraries import optim
from graphlint.analysis.parts import change_of
from graphlint.analysis.values import (
    MAX_ALTERNATIVES,
    NONE,
    Change,
    Class,
    Env,
    External,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Tensor,
    Unknown,
    Value,
    alternatives,
    join_all,
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile

NUMBERS = {"int": "int", "float": "float", "bool": "bool", "str": "str", "complex": "float", "bytes": "str"}
SEQUENCES = {
    "list": "list",
    "List": "list",
    "Sequence": "list",
    "Iterable": "list",
    "Iterator": "list",
    "Collection": "list",
    "MutableSequence": "list",
    "set": "set",
    "Set": "set",
    "frozenset": "set",
    "deque": "list",
    "Deque": "list",
    "Generator": "list",
}
MAPPINGS = frozenset(
    {"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict"}
)


def value_of(m: Machine, node: ast.expr, module: ModuleFile, change: Change, place: Place) -> Value:
    """What a value annotated with `node` is; unknown when the annotation says nothing useful."""
    parsed = _unquoted(node)
    if parsed is None:
        return Unknown("annotation", change)
    if type(parsed) is ast.BinOp and type(parsed.op) is ast.BitOr:
        parts = [value_of(m, side, module, change, place) for side in (parsed.left, parsed.right)]
        return _joined(parts)
    if type(parsed) is ast.Constant and parsed.value is None:
        return NONE
    if type(parsed) is ast.Subscript:
        return _generic(m, parsed, module, change, place)
    return _named(m, parsed, module, change, place)


def _joined(parts: list[Value]) -> Value:
    """A union of types; an unknown one among known ones is dropped, None is kept."""
    known = [part for part in parts if not isinstance(part, Unknown)]
    return join_all(known) if any(part is not NONE for part in known) else parts[0]


def _unquoted(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return None
    return node


def resolve(m: Machine, node: ast.expr, module: ModuleFile) -> Value:
    """The class or type that an annotation's name refers to."""
    frame = Frame(module, Env(module, None), "<module>")
    m.frames.append(frame)
    try:
        with m.before_everything():
            return expressions.evaluate(m, node, frame)
    finally:
        m.frames.pop()


def _named(m: Machine, node: ast.expr, module: ModuleFile, change: Change, place: Place) -> Value:
    name = last_name(node)
    if name in NUMBERS and isinstance(node, ast.Name):
        return Host(NUMBERS[name], change)
    if name in SEQUENCES and isinstance(node, ast.Name):
        return Sequence_((), SEQUENCES[name], Unknown("element", change), change)
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return Unknown("annotation", change)
    return of_type(m, resolve(m, node, module), change, place)


def of_type(m: Machine, kind: Value, change: Change, place: Place) -> Value:
    """An instance of a class given as a value."""
    if isinstance(kind, Class):
        if kind.info.is_enum:
            return _member(m, kind.info) or Host("any", change)
        return _instance(m, kind.info, change, place)
    if isinstance(kind, External):
        return _of_external(m, kind.name, change, place)
    return Unknown("annotation", change)


def _member(m: Machine, info: ClassInfo) -> Value | None:
    """The member of an enumeration that a framework is known to use at capture."""
    name = frameworks.assumed_member(m, info)
    return class_members.class_attribute(m, info, name) if name else None


def _instance(m: Machine, info: ClassInfo, change: Change, place: Place) -> Value:
    """An instance of a class; of an abstract one, what the project makes that derives from it.

    Where that is too much, it is an instance of the abstract class itself: `many.declared` says what it has.
    """
    found = subclasses.implementations(m, info) if info.is_abstract else []
    if len(found) > MAX_ALTERNATIVES:
        return synthesis.instance(m, info, change, place)
    return join_all(synthesis.instance(m, each, change, place) for each in found or [info])


def _of_external(m: Machine, dotted: str, change: Change, place: Place) -> Value:
    if dotted in operations.listed("tensor_types") or dotted.rpartition(".")[2] in ("Tensor", "TensorType"):
        return argument_tensor(m, change, place, operations.mapped("kind_by_tensor_type").get(dotted))
    if dotted in ("torch.nn.Module", "torch.nn.modules.module.Module"):
        return Obj("torch.nn.Module", place)
    if dotted.startswith("torch.nn.") and dotted.rpartition(".")[2][:1].isupper():
        return Obj(dotted, place)
    if dotted.startswith("torch.optim.") and "lr_scheduler" not in dotted:
        return optim.given_optimizer(place)
    if dotted in ("numpy.ndarray", "numpy.typing.NDArray"):
        return Unknown("numpy array", change, "numpy")
    if dotted == "torch.device":
        return Obj("torch.device", place)
    if dotted in operations.listed("device_objects"):
        return Obj(dotted, place)
    if dotted.startswith("builtins."):
        name = dotted.rpartition(".")[2]
        if name in NUMBERS:
            return Host(NUMBERS[name], change)
        if name in MAPPINGS:
            return _mapping(Unknown("value", change), place)
    return Unknown(f"`{dotted}`", change, host.class_of_annotation(dotted))


def argument_tensor(m: Machine, change: Change, place: Place, kind: str | None = None) -> Tensor:
    """A tensor that the program is given: its memory is the caller's."""
    with m.before_everything():
        made = m.tensor(None, place, kind)
    made.storage.owner = "argument"
    made.storage.changing = change is Change.CHANGING
    return made


def _generic(m: Machine, node: ast.Subscript, module: ModuleFile, change: Change, place: Place) -> Value:
    base = last_name(node.value)
    inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if base in ("Optional",):
        return _joined([value_of(m, inner[0], module, change, place), NONE])
    if base == "Union":
        return _joined([value_of(m, part, module, change, place) for part in inner])
    if base in ("Annotated", "Final", "ClassVar", "Required", "NotRequired", "Unpack"):
        return value_of(m, inner[0], module, change, place)
    if base in ("type", "Type"):
        return _class(m, resolve(m, inner[0], module))
    if base in ("tuple", "Tuple"):
        return _tuple(m, inner, module, change, place)
    if base in SEQUENCES:
        return _sequence(m, SEQUENCES[base], inner[0], module, change, place)
    if base in MAPPINGS:
        return _mapping(value_of(m, inner[-1], module, change, place), place)
    if base == "Callable" and len(inner) == 2:
        return _callable(m, inner[1], module, change, place)
    if base == "Literal":
        return Host("str", change)
    return _named(m, node.value, module, change, place)


def _class(m: Machine, kind: Value) -> Value:
    """A class given as a value: of an abstract one, what the project makes that derives from it."""
    if not isinstance(kind, Class) or not kind.info.is_abstract:
        return kind
    found = subclasses.implementations(m, kind.info)
    return join_all(map(Class, found)) if 0 < len(found) <= MAX_ALTERNATIVES else kind


def _sequence(
    m: Machine, kind: str, inner: ast.expr, module: ModuleFile, change: Change, place: Place
) -> Sequence_:
    """Some elements of a kind; two where they are records: what is done to one is not done to the other."""
    value = value_of(m, inner, module, change, place)
    if isinstance(value, Obj) and isinstance(value.cls, ClassInfo) and value.cls.is_record:
        return Sequence_((synthesis.another(m, value.cls, change, place),), kind, value, change)
    return Sequence_((), kind, value, change)


def _callable(m: Machine, result: ast.expr, module: ModuleFile, change: Change, place: Place) -> Value:
    """A callable that is passed in: not known itself, but its result may be an instance of the project's."""
    returns = value_of(m, result, module, change, place)
    if not all(isinstance(p, Obj) and isinstance(p.cls, ClassInfo) for p in alternatives(returns)):
        return Unknown("a callable that is passed in", change)
    made = Obj("typed-callable", place)
    made.fields["returns"] = returns
    return made


def _tuple(m: Machine, inner: list[ast.expr], module: ModuleFile, change: Change, place: Place) -> Value:
    if len(inner) == 2 and isinstance(inner[1], ast.Constant) and inner[1].value is Ellipsis:
        return Sequence_((), "tuple", value_of(m, inner[0], module, change, place), change)
    return Sequence_([value_of(m, part, module, change, place) for part in inner], "tuple", None, change)


def _mapping(value: Value, place: Place) -> Mapping:
    made = Mapping(place)
    made.fields[Mapping.REST] = (Host("any", change_of(value)), value)
    return made
