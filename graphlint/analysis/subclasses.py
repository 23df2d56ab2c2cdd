"""Which classes can stand where an abstract one is asked for: its subclasses that the project makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from graphlint.analysis import names
from graphlint.analysis.classes import ClassInfo, last_name, names_record
from graphlint.analysis.values import MAX_ALTERNATIVES, Class, alternatives
from graphlint.facts import nodes as ast
from graphlint.facts.looking import by_type, may_say
from graphlint.facts.pernode import per_node
from graphlint.facts.questions import question
from graphlint.facts.walking import children

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import ModuleFile

# Calls that are given a class without making anything of it.
_ASKING = frozenset({"isinstance", "issubclass", "cast", "super", "TypeVar", "hasattr"})


def implementations(m: Machine, info: ClassInfo) -> list[ClassInfo]:
    """The concrete subclasses that are made somewhere in the project, in the order of the files.

    Where none is, as in a library whose users name its classes in configurations, all of them. At most one
    more than `MAX_ALTERNATIVES`: so many that nothing is known.
    """
    if info.implementations is None:
        info.implementations = []  # a class may be asked about while its subclasses are resolved
        info.implementations = _made_below(m, info) or list(islice(_concrete(m, info), MAX_ALTERNATIVES + 1))
    return info.implementations


def _concrete(m: Machine, info: ClassInfo) -> Iterator[ClassInfo]:
    return (sub for sub in _below(m, info) if not sub.is_abstract)


def _made_below(m: Machine, info: ClassInfo) -> list[ClassInfo]:
    return list(islice((sub for sub in _concrete(m, info) if _is_made(m, sub)), MAX_ALTERNATIVES + 1))


# How many of its subclasses a class that nobody makes itself is lived through as.
MOST_LIVED = 3


def lived_as(m: Machine, info: ClassInfo) -> list[ClassInfo]:
    """The classes whose instances run the methods of `info`: its subclasses where nobody makes it itself.

    A mixin has its fields from the class that it is mixed into.
    """
    if _is_made(m, info):
        return [info]
    found = _made_below(m, info)
    if not found and info.find("__init__") is None:
        found = [sub for sub in _below(m, info) if sub.find("__init__") is not None]
    return found[:MOST_LIVED] or [info]


def define_all(m: Machine, info: ClassInfo) -> None:
    """Define every subclass in the project, so that what a class statement does has happened."""
    for _ in _below(m, info):
        pass


def _below(m: Machine, info: ClassInfo) -> Iterator[ClassInfo]:
    seen = {id(info)}
    pending = [info]
    while pending:
        current = pending.pop(0)
        for sub in _direct(m, current):
            if id(sub) not in seen:
                seen.add(id(sub))
                pending.append(sub)
                yield sub


def _direct(m: Machine, info: ClassInfo) -> Iterator[ClassInfo]:
    for module in m.project.deriving(info.name):
        for name in classes_over(module, info.name):
            value = names.module_attribute(m, module, name)
            for part in alternatives(value) if value is not None else ():
                if isinstance(part, Class) and info in part.info.mro():
                    yield part.info


@question
def classes_over(module: ModuleFile, base: str) -> tuple[str, ...]:
    """The top-level classes with a base of this name, or of what the file calls it."""
    known_as = {base} | module.imported_as.get(base, set())
    return tuple(
        name for name, node in module.classes if not known_as.isdisjoint(map(_base_name, node.bases))
    )


def _base_name(base: ast.expr) -> str:
    return last_name(base.value if isinstance(base, ast.Subscript) else base)


def _is_made(m: Machine, info: ClassInfo) -> bool:
    return any(makes(module, info.name) for module in m.project.mentioning(info.name))


@question
def makes(module: ModuleFile, name: str) -> bool:
    """Whether a file calls a name or passes it on as a value, or a decorator registers a class of it.

    What counts is any name that the file imports it under.
    """
    return any(_passes_on(module.tree, each) for each in {name} | module.imported_as.get(name, set()))


def _passes_on(scope: ast.AST, name: str) -> bool:
    names_, functions = _passed_on(scope)
    return name in names_ or any(may_say(each, name) and _passes_on(each, name) for each in functions)


@per_node
def _passed_on(scope: ast.AST) -> tuple[frozenset[str], list[ast.AST]]:
    """What the body of a module or function passes on, and the functions defined there."""
    found: set[str] = set()
    functions: list[ast.AST] = []
    stack: list[ast.AST] = list(scope.body)  # type: ignore[attr-defined]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name or kind is ast.Constant:
            continue
        parts_of = _PASSING_ON.get(kind)
        if parts_of is None:
            stack += children(node)
            continue
        if parts_of is _BY_TYPE[ast.FunctionDef]:
            functions.append(node)
        values, below = parts_of(node)
        found.update(map(last_name, values))
        stack += below
    return frozenset(found), functions


_Parts = tuple[Sequence[ast.expr], Sequence[ast.AST]]
"""The expressions that a node passes on as values, and the nodes below it: no annotations, no bases."""


def _of_call(node: ast.Call) -> _Parts:
    if last_name(node.func) in _ASKING:
        return [node.func], [node.func]
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return [node.func, *given], [node.func, *given]


def _of_subscript(node: ast.Subscript) -> _Parts:
    is_type = last_name(node.value)[:1].isupper()
    return (), () if is_type else (node.value, node.slice)


def _of_class(node: ast.ClassDef) -> _Parts:
    registered = any(isinstance(item, ast.Call) and not names_record(item) for item in node.decorator_list)
    own = [ast.Name(node.name)] if registered else ()
    return own, [*node.keywords, *node.body, *node.decorator_list]


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> _Parts:
    defaults = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
    return (), [*defaults, *node.decorator_list]


def _of_assignment(node: ast.Assign | ast.AnnAssign) -> _Parts:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return ([node.value], [*targets, node.value]) if node.value is not None else ((), targets)


_BY_TYPE: dict[type[ast.AST], Callable[[Any], _Parts]] = {
    ast.Call: _of_call,
    ast.Subscript: _of_subscript,
    ast.ClassDef: _of_class,
    ast.FunctionDef: _of_function,
    ast.AsyncFunctionDef: _of_function,
    ast.Assign: _of_assignment,
    ast.AnnAssign: _of_assignment,
    ast.Return: lambda node: ([node.value], [node.value]) if node.value is not None else ((), ()),
    ast.Dict: lambda node: (node.values, [each for each in (*node.keys, *node.values) if each is not None]),
    ast.List: lambda node: (node.elts, node.elts),
    ast.Tuple: lambda node: (node.elts, node.elts),
    ast.Set: lambda node: (node.elts, node.elts),
    ast.IfExp: lambda node: ((node.body, node.orelse), (node.test, node.body, node.orelse)),
    ast.arg: lambda node: ((), ()),
}
_PASSING_ON = by_type(_BY_TYPE)
