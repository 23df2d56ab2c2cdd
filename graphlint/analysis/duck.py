"""Guessing the class of a parameter that nobody annotates, from what the program does with it.

A class of the same file (or imported into it) that has every attribute and method used on the
parameter, and that takes the calls made of it, is taken to be what arrives there. Nothing is
guessed when several unrelated classes would do, or when the uses say too little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from graphlint.analysis import hints, library, names, synthesis
from graphlint.analysis.classes import ClassInfo, last_name
from graphlint.analysis.frames import Place
from graphlint.analysis.libraries import optim
from graphlint.analysis.values import Change, Class, Function, Obj, Value, alternatives, join_all
from graphlint.facts import nodes as ast
from graphlint.facts.walking import walk
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile

MOST_CLASSES = 3


@dataclass(slots=True)
class Uses:
    """How a value is used: attributes, and how many arguments it and its methods are called with."""

    attributes: set[str] = field(default_factory=set)
    arities: set[int] = field(default_factory=set)
    handed_to: set[str] = field(default_factory=set)  # dotted names of what it is the first argument of
    methods: set[tuple[str, int]] = field(default_factory=set)
    is_operand: bool = False  # whether a part of the object is called with it
    own: frozenset[str] = frozenset()  # the methods of the object


def guess(m: Machine, function: Function, name: str, change: Change, place: Place) -> Value | None:
    """Instances of the classes that fit the uses of parameter `name`; None when nothing is guessed."""
    uses = uses_of(function, name)
    if not uses.attributes and not uses.arities and not uses.handed_to:
        return None
    if any(map(library.is_tensor_method, uses.attributes)) and not uses.arities:
        return hints.argument_tensor(m, change, place)
    if uses.is_operand and not uses.arities and uses.attributes <= operations.listed("module_casts"):
        return hints.argument_tensor(m, change, place)  # moved like a module, but given to one
    fitting = [
        info for info in _classes(m, function.module) if not _is_kin(info, function.cls) and fits(info, uses)
    ]
    if not uses.attributes - operations.listed("module_methods"):
        whole = [i for i in fitting if not _is_constructed(m, function.module, i)]
        fitting = [i for i in whole if i.is_module] or _run_as_functions(whole, function, uses)
        fitting = fitting if len(fitting) == 1 else []
    if not fitting and (known := _of_torch_cuda(uses)):
        return Obj(known, place)
    if not fitting and uses.attributes & operations.listed("optimizer_only") and "step" in uses.attributes:
        return optim.given_optimizer(place)
    if not fitting and uses.attributes & operations.listed("module_only"):
        return Obj("torch.nn.Module", place)
    if not fitting or len(fitting) > MOST_CLASSES:
        return None
    return join_all(synthesis.instance(m, info, change, place) for info in fitting)


def _run_as_functions(among: list[ClassInfo], function: Function, uses: Uses) -> list[ClassInfo]:
    """The classes whose instances stand for a function that is called with nothing: `step()`.

    One that calls the function itself gives it something else to run.
    """
    if uses.attributes or uses.arities != {0}:
        return []
    name = function.node.name if not isinstance(function.node, ast.Lambda) else ""
    return [info for info in among if not any(map(partial(_is_named, names={name}), walk(info.node, name)))]


def guess_children(m: Machine, function: Function, name: str, change: Change, place: Place) -> Value | None:
    """An instance of the one class of the file that fits how the children of a container are called."""
    uses = Uses()
    for tree, is_value in _mentions(function, name):
        _uses_in(tree, partial(_is_named, names=_turns_over(tree, is_value)), uses)
        _uses_in(tree, partial(_is_item, is_value=is_value), uses)
    own = function.cls
    others = [info for info in _classes(m, function.module) if info.is_module and not _is_kin(info, own)]
    fitting = [info for info in others if uses.arities and fits(info, uses)]
    fitting = [info for info in fitting if own is None or not _constructs(info, own)]
    whole = [info for info in fitting if not _is_constructed(m, function.module, info)] or fitting
    return synthesis.instance(m, whole[0], change, place) if len(whole) == 1 else None


def _turns_over(tree: ast.AST, is_value: Callable[[ast.AST], bool]) -> set[str]:
    """The names of loops that go over a value: `for layer in layers`, `for i, layer in enumerate(layers)`."""
    loops = [node for node in walk(tree) if isinstance(node, (ast.For, ast.comprehension))]
    over = [loop for loop in loops if any(map(is_value, ast.walk(loop.iter)))]
    return {part.id for loop in over for part in ast.walk(loop.target) if isinstance(part, ast.Name)}


def _is_kin(info: ClassInfo, own: ClassInfo | None) -> bool:
    """Whether a class is the method's own, derives from it, or is one of its bases."""
    return own is not None and (own in info.mro() or info in own.mro())


def _of_torch_cuda(uses: Uses) -> str | None:
    """The class of torch.cuda that the uses speak of, where they speak of one alone."""
    by_attribute = operations.mapped("class_by_attribute")
    found = {operations.mapped("class_by_callee")[name] for name in uses.handed_to}
    found |= {by_attribute[name] for name in uses.attributes & by_attribute.keys()}
    return found.pop() if len(found) == 1 else None


def uses_of(function: Function, name: str) -> Uses:
    """What a function, and through fields its class, does with a parameter."""
    classes = function.cls.mro() if function.cls is not None else ()
    uses = Uses(own=frozenset(method for cls in classes for method in cls.methods))
    for tree, is_value in _mentions(function, name):
        _uses_in(tree, is_value, uses)
    return uses


def _mentions(function: Function, name: str) -> Iterator[tuple[ast.AST, Callable[[ast.AST], bool]]]:
    """The code that may name a parameter, itself or through fields that keep it, and what names it there."""
    yield function.node, partial(_is_named, names={name})
    for kept in _kept_as(function.node, name):
        for cls in function.cls.mro() if function.cls is not None else ():
            yield cls.node, partial(_is_own_field, name=kept)


def _is_named(node: ast.AST, names: set[str]) -> bool:
    return type(node) is ast.Name and node.id in names


def _is_item(node: ast.AST, is_value: Callable[[ast.AST], bool]) -> bool:
    return isinstance(node, ast.Subscript) and is_value(node.value)


def _uses_in(tree: ast.AST, is_value: Callable[[ast.AST], bool], uses: Uses) -> None:
    for node in walk(tree):
        if type(node) is ast.Attribute:
            if is_value(node.value):
                uses.attributes.add(node.attr)
        elif type(node) is ast.Call:
            _note_call(node, is_value, uses)


def _note_call(node: ast.Call, is_value: Callable[[ast.AST], bool], uses: Uses) -> None:
    if is_value(node.func):
        uses.arities |= _count(node)
    elif type(node.func) is ast.Attribute and is_value(node.func.value):
        uses.methods |= {(node.func.attr, count) for count in _count(node)}
    elif _is_part(node.func, uses.own) and any(map(is_value, node.args)):
        uses.is_operand = True
    elif node.args and is_value(node.args[0]) and _is_of_cuda(node.func):
        uses.handed_to.add(ast.unparse(node.func))
    elif last_name(node.func) == "make_graphed_callables":
        if len(node.args) > 1 and is_value(node.args[0]) and type(node.args[1]) is ast.Tuple:
            uses.arities.add(len(node.args[1].elts))


def _is_part(callee: ast.expr, methods: frozenset[str]) -> bool:
    """Whether what is called is a field of the object, `self.net(...)`, and none of its methods."""
    is_field = type(callee) is ast.Attribute and _is_own_field(callee, callee.attr)
    return is_field and callee.attr not in methods  # type: ignore[attr-defined]


def _is_of_cuda(callee: ast.expr) -> bool:
    return (
        isinstance(callee, ast.Attribute)
        and callee.attr in ("stream", "graph")
        and (ast.unparse(callee) in operations.mapped("class_by_callee"))
    )


def _count(node: ast.Call) -> set[int]:
    """The number of arguments of a call; none when an unpacking hides it."""
    hidden = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
    return set() if hidden else {len(node.args) + len(node.keywords)}


def _is_own_field(node: ast.AST, name: str) -> bool:
    if type(node) is not ast.Attribute or node.attr != name:
        return False
    return type(node.value) is ast.Name and node.value.id == "self"


def _kept_as(node: ast.AST, name: str) -> set[str]:
    """The fields that a method stores a parameter in: `self.a = name`, `self.a, self.b = name, ...`."""
    found: set[str] = set()
    for statement in walk(node):
        if type(statement) is not ast.Assign:
            continue
        for target in statement.targets:
            found |= _fields_given(target, statement.value, name)
    return found


def _fields_given(target: ast.expr, value: ast.expr, name: str) -> set[str]:
    if type(target) is ast.Tuple and type(value) is ast.Tuple and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        return {f for t, v in pairs for f in _fields_given(t, v, name)}
    source = value
    while type(source) is ast.Call and type(source.func) is ast.Attribute:
        source = source.func.value  # self.net = net.cuda().eval()
    if type(target) is ast.Attribute and type(source) is ast.Name and source.id == name:
        return {target.attr}
    return set()


def _classes(m: Machine, module: ModuleFile) -> list[ClassInfo]:
    found: list[ClassInfo] = []
    for name, bindings in module.bindings.items():
        if any(binding.kind in ("class", "from") for binding in bindings):
            value = names.module_attribute(m, module, name)
            found += [part.info for part in alternatives(value) if isinstance(part, Class)] if value else []
    return found


def fits(info: ClassInfo, uses: Uses) -> bool:
    """Whether a class has what is used, and accepts the calls."""
    own = members(info)
    inherited = operations.listed("module_methods") | {"training"} if info.is_module else frozenset()
    if not uses.attributes <= own | inherited:
        return False
    if not all(_takes(info, name, count) for name, count in uses.methods):
        return False
    entry = info.find("forward") if info.is_module else info.find("__call__")
    if uses.arities:
        return entry is not None and all(_accepts(entry[1], count) for count in uses.arities)
    return bool(uses.attributes & own)


def _takes(info: ClassInfo, name: str, count: int) -> bool:
    """Whether a method accepts so many arguments; what decorators make of it is not known."""
    found = info.find(name)
    return found is None or bool(found[1].decorator_list) or _accepts(found[1], count)


def members(info: ClassInfo) -> set[str]:
    """Every attribute that instances of a class have by its own text."""
    found: set[str] = set()
    for cls in info.mro():
        found |= cls.methods.keys() | cls.attributes.keys() | cls.annotations.keys()
        for method in cls.methods.values():
            found |= synthesis.written_fields(method)
    return found


def _accepts(node: ast.FunctionDef | ast.AsyncFunctionDef, count: int) -> bool:
    parameters = [*node.args.posonlyargs, *node.args.args][1:]
    most = len(parameters) + len(node.args.kwonlyargs)
    least = len(parameters) - len(node.args.defaults)
    return least <= count and (count <= most or node.args.vararg is not None)


def _is_constructed(m: Machine, module: ModuleFile, info: ClassInfo) -> bool:
    """Whether another class of the file constructs this one: then it is a part, not the whole."""
    return any(other is not info and _constructs(other, info) for other in _classes(m, module))


def _constructs(info: ClassInfo, part: ClassInfo) -> bool:
    """Whether the text of one class calls another."""
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == part.name
        for n in walk(info.node, part.name)
    )
