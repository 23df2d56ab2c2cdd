"""What the entry methods of a class are for: prepare, capture, step, replay; told by what their text does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis import generators, setups, synthesis
from graphlint.analysis.classes import ClassInfo, Def, last_name
from graphlint.analysis.own_text import Text, is_declared, reached_from, text_of
from graphlint.analysis.values import Obj, is_none
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def methods_of(info: ClassInfo) -> dict[str, tuple[ClassInfo, Def]]:
    """The methods of a class and its project bases, the most derived of each name, in text order."""
    found: dict[str, tuple[ClassInfo, Def]] = {}
    for cls in info.mro():
        for name, node in cls.methods.items():
            found.setdefault(name, (cls, node))
    return found


def reach(methods: dict[str, tuple[ClassInfo, Def]], name: str) -> Iterator[str]:
    """The methods that a method calls on itself, transitively, itself included."""
    yield from reached_from(name, methods.keys(), lambda current: _run_by(_text(methods, current)))


def _run_by(text: Text) -> set[str]:
    return text.names - text.targets


def _text(methods: dict[str, tuple[ClassInfo, Def]], name: str) -> Text:
    """What a method does, with what it extends: `super().capture()` captures."""
    info, node = methods[name]
    text = text_of(node)
    while "super" in text_of(node).names:
        found = info.find(name, after=info)
        if found is None:
            break
        info, node = found
        base = text_of(node)
        text = Text(
            text.captures or base.captures,
            text.replays or base.replays,
            text.compiles or base.compiles,
            text.names | base.names,
            text.targets | base.targets,
        )
    return text


@dataclass(slots=True)
class Roles:
    """What the entry methods of a class are for."""

    prepare: list[str] = field(default_factory=list)
    capture: list[str] = field(default_factory=list)
    step: list[str] = field(default_factory=list)
    replay: list[str] = field(default_factory=list)
    only_prepare: list[str] = field(default_factory=list)


def roles_of(m: Machine, owner: Obj) -> Roles:
    """Sort the entry methods of an object by what their text does."""
    assert isinstance(owner.cls, ClassInfo)
    methods = methods_of(owner.cls)
    called = {
        other
        for name, (_, node) in methods.items()
        if name != "__init__"
        for other in (_mentions(node) & methods.keys()) - {name}
    }
    called |= _mentions(methods["__init__"][1]) & methods.keys() if "__init__" in methods else set()
    roles = Roles()
    wanted = _missing_fields(m, owner, methods)
    for name, (_, node) in methods.items():
        if not _is_entry(name, node, called) and not is_declared(node):
            continue
        _assign_role(roles, name, node, methods, wanted)
    _move_setups(m, roles)
    _move_warmups(roles, methods)
    roles.only_prepare = [name for name in roles.prepare if _comes_first(name, methods, wanted)]
    return roles


def _move_setups(m: Machine, roles: Roles) -> None:
    """What the program calls from constructors only comes first, and is not done again."""
    for name in [n for n in roles.step if n not in roles.replay and setups.only_at_start(m, n)]:
        roles.step.remove(name)
        roles.prepare.append(name)


def holds(info: ClassInfo) -> bool:
    """Whether a class captures, replays or compiles by its own text, not because somebody declares it."""
    return any(text_of(cls.node).holds for cls in info.mro())


def leads_elsewhere(owner: Obj, name: str, goals: Set[str]) -> bool:
    """Whether a method, or one of its object that it calls, mentions one of the `goals` of other classes."""
    assert isinstance(owner.cls, ClassInfo)
    methods = methods_of(owner.cls)
    others = goals - {info.name for info in owner.cls.mro()}
    return any(not others.isdisjoint(_text(methods, each).names) for each in reach(methods, name))


def captures_of_constructor(owner: Obj) -> list[str]:
    """The methods by which a constructor captures, in text order."""
    assert isinstance(owner.cls, ClassInfo)
    methods = methods_of(owner.cls)
    called = _mentions(methods["__init__"][1]) if "__init__" in methods else frozenset()
    reached = {name: list(reach(methods, name)) for name in methods if name in called}
    return [name for name, names in reached.items() if any(_text(methods, each).captures for each in names)]


@summary
def _mentions(node: Def) -> frozenset[str]:
    """The names that a method mentions, but for those of parts: `self.opt.step` is no mention of `step`."""
    return frozenset(
        part.id if isinstance(part, ast.Name) else part.attr
        for part in walk(node)
        if isinstance(part, ast.Name)
        or (isinstance(part, ast.Attribute) and not isinstance(part.value, (ast.Attribute, ast.Subscript)))
    )


def closes(owner: Obj, names: Iterable[str]) -> bool:
    """Whether one of these methods ends a capture that another one has begun."""
    assert isinstance(owner.cls, ClassInfo)
    methods = methods_of(owner.cls)
    return any(
        _text(methods, reached).names & operations.listed("capture_ends")
        for name in names
        for reached in reach(methods, name)
    )


def _comes_first(name: str, methods: dict[str, tuple[ClassInfo, Def]], wanted: set[str]) -> bool:
    """Whether captured code cannot run before this method has filled its fields: it is no step later."""
    if not name.lstrip("_").startswith(synthesis.EARLY):
        return False
    filled = wanted & synthesis.written_fields(methods[name][1])
    return bool(filled) and filled.isdisjoint(_optional_fields(methods))


def _optional_fields(methods: dict[str, tuple[ClassInfo, Def]]) -> set[str]:
    """Fields that some method tests before it uses them."""
    return set().union(*(_tested_fields(node) for _, node in methods.values()))


@summary
def _tested_fields(node: Def) -> frozenset[str]:
    tests = (
        part.test
        for part in generators.own_nodes(node)
        if isinstance(part, (ast.If, ast.IfExp, ast.While, ast.Assert))
    )
    return frozenset(p.attr for test in tests for p in walk(test) if isinstance(p, ast.Attribute))


def is_recapture(m: Machine, owner: Obj, name: str) -> bool:
    """Whether an entry method captures only through another method that has already captured."""
    assert isinstance(owner.cls, ClassInfo)
    methods = methods_of(owner.cls)
    direct = [r for r in reach(methods, name) if _captures_itself(methods, r)]
    return name not in direct and any(id(methods[r][1]) in m.executed for r in direct)


def _captures_itself(methods: dict[str, tuple[ClassInfo, Def]], name: str) -> bool:
    return _text(methods, name).captures


def _move_warmups(roles: Roles, methods: dict[str, tuple[ClassInfo, Def]]) -> None:
    """A method that only runs what is captured, and keeps and returns nothing, is a warm-up: it is first."""
    capturing = [name for name in methods if _text(methods, name).captures]
    captured = {called for name in capturing for called in _captured_calls(methods, name)}
    for name in [n for n in roles.step if n not in roles.replay]:
        nodes = [methods[r][1] for r in reach(methods, name)]
        runs = any(_own_calls(node) & captured for node in nodes)
        if runs and not any(synthesis.written_fields(node) for node in nodes) and not _gives(nodes[0]):
            roles.step.remove(name)
            roles.prepare.append(name)


def _captured_calls(methods: dict[str, tuple[ClassInfo, Def]], name: str) -> frozenset[str]:
    """The methods that a capturing method has captured: what it calls before and after is no part of it."""
    direct = _calls_in_regions(methods[name][1])
    inner = {r for called in direct & methods.keys() for r in reach(methods, called)}
    return direct.union(*(_own_calls(methods[r][1]) for r in inner))


@summary
def _calls_in_regions(node: Def) -> frozenset[str]:
    """What a method calls on its first parameter in its capturing blocks; anywhere, where it has none."""
    blocks = [part for part in walk(node) if isinstance(part, ast.With) and _is_capturing(part)]
    if not blocks:
        return _own_calls(node)
    return _called_on(_first(node), (statement for block in blocks for statement in block.body))


def _is_capturing(block: ast.With) -> bool:
    called = [item.context_expr.func for item in block.items if isinstance(item.context_expr, ast.Call)]
    names = set(map(last_name, called))
    return bool(names & operations.listed("capturing"))


@summary
def _own_calls(node: Def) -> frozenset[str]:
    """The names that a method calls on its first parameter."""
    return _called_on(_first(node), [node])


def _first(node: Def) -> str:
    return node.args.args[0].arg if node.args.args else ""


def _called_on(first: str, trees: Iterable[ast.AST]) -> frozenset[str]:
    called = (part.func for tree in trees for part in walk(tree) if isinstance(part, ast.Call))
    return frozenset(
        f.attr
        for f in called
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == first
    )


@summary
def _gives(node: Def) -> bool:
    """Whether a method returns or yields a value."""
    return any(
        isinstance(part, (ast.Return, ast.Yield)) and part.value is not None
        for part in generators.own_nodes(node)
    )


def _assign_role(
    roles: Roles, name: str, node: Def, methods: dict[str, tuple[ClassInfo, Def]], wanted: set[str]
) -> None:
    reached = list(reach(methods, name))
    captures = any(_text(methods, r).captures for r in reached)
    replays = any(_text(methods, r).replays for r in reached)
    if replays:
        roles.step.append(name)
        roles.replay.append(name)
    elif captures:
        roles.capture.append(name)
    elif wanted & {f for r in reached for f in synthesis.written_fields(methods[r][1])}:
        roles.prepare.append(name)
    else:
        roles.step.append(name)


def _is_entry(name: str, node: Def, called: set[str]) -> bool:
    """Whether a method is called from outside the class."""
    if name in ("__call__", "forward", "__enter__", "__exit__"):
        return name not in called or name == "__call__"
    if name.startswith("__"):
        return False
    return name not in called and not _is_accessor(node)


def _is_accessor(node: Def) -> bool:
    names = set(map(last_name, node.decorator_list))
    return bool(names & {"property", "cached_property", "staticmethod", "abstractmethod", "setter"})


def _missing_fields(m: Machine, owner: Obj, methods: dict[str, tuple[ClassInfo, Def]]) -> set[str]:
    """Fields that captured code mentions and that are not set, or None, after construction."""
    capturing = [n for n in methods if _text(methods, n).captures]
    mentioned = {x for n in capturing for r in reach(methods, n) for x in _text(methods, r).names}
    written = {f for _, node in methods.values() for f in synthesis.written_fields(node)}
    made = {f for n in capturing for r in reach(methods, n) for f in synthesis.written_fields(methods[r][1])}

    def is_absent(name: str) -> bool:
        value = owner.fields.get(name)
        return is_none(value)

    found_later = {name for kept in m.deferred.get(owner.serial, ()) for name in kept.fields}
    return {name for name in mentioned & written - made - found_later if is_absent(name)}
