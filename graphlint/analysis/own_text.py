"""What the text of a definition says of graphs, and which names it mentions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from graphlint.analysis.classes import Def, last_name
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node, summary
from graphlint.facts.walking import walk
from graphlint.rules import operations


@dataclass(slots=True)
class Text:
    """What a function's own text does with graphs, and the names that it mentions.

    `targets` are the names that it starts threads with (`target=self.work`): it does not run them itself.
    """

    captures: bool = False
    replays: bool = False
    compiles: bool = False
    names: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)

    @property
    def holds(self) -> bool:
        return self.captures or self.replays or self.compiles


@summary
def text_of(node: ast.AST) -> Text:
    """Read a function's own text, nested functions included, once."""
    text = Text()
    own: set[str] = set()
    attributes: set[str] = set()
    for part in walk(node):
        kind = type(part)
        if kind is ast.Name:
            text.names.add(part.id)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            attributes.add(part.attr)  # type: ignore[attr-defined]
            if part.attr in _CONTEXTS and not text.captures:  # type: ignore[attr-defined]
                text.captures = _is_graph_context(part)
        elif kind is ast.arg:
            own.add(part.arg)  # type: ignore[attr-defined]
        elif kind in _SAYING:
            _read(part, text)
    replaying = operations.listed("replaying")
    text.replays = not replaying.isdisjoint(attributes | (text.names - own))
    text.names |= attributes
    capturing = operations.listed("capturing") - {"graph"}
    text.captures = text.captures or is_declared(node) or not capturing.isdisjoint(text.names)
    return text


_SAYING = frozenset({ast.Constant, ast.Call, ast.ImportFrom})


_CONTEXTS = frozenset({"graph", "Graph"})


@per_node
def functions_in(node: ast.Module | ast.ClassDef) -> dict[str, Def]:
    """The functions right in the body of a module or class, by name."""
    return {
        each.name: each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


@summary
def names_bound(node: ast.AST) -> frozenset[str]:
    """The names that a loop or function binds, nested functions included."""
    return frozenset(
        part.id for part in walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )


def names_reached(methods: Mapping[str, ast.AST], name: str) -> Iterator[str]:
    """The functions of one scope that a function mentions, transitively, itself included."""
    yield from reached_from(name, methods.keys(), lambda current: text_of(methods[current]).names)


def reached_from(name: str, known: Set[str], mentioned: Callable[[str], set[str]]) -> Iterator[str]:
    """`name` and what is reached from it within `known`, by the names that each mentions."""
    seen: set[str] = set()
    stack = [name]
    while stack:
        current = stack.pop()
        if current in seen or current not in known:
            continue
        seen.add(current)
        yield current
        stack.extend(sorted(mentioned(current) & known))


def _read(part: ast.AST, text: Text) -> None:
    if type(part) is ast.Constant:
        text.compiles = text.compiles or (isinstance(part.value, str) and _turns_graphs_on(part.value))
    elif type(part) is ast.Call:
        text.captures = text.captures or _calls_graph(part)
        named = (word.value for word in part.keywords if word.arg == "target")
        text.targets |= {value.attr for value in named if type(value) is ast.Attribute}
    elif type(part) is ast.ImportFrom and (part.module or "").startswith("torch.cuda"):
        text.captures = text.captures or any(
            alias.name in operations.listed("capturing") for alias in part.names
        )


def _turns_graphs_on(text: str) -> bool:
    """Whether a text is an option of the compiler under which it makes graphs."""
    return text in operations.listed("compiled_modes") or text in operations.listed("compiled_words")


def _is_graph_context(part: ast.AST) -> bool:
    """`torch.cuda.graph` taken as a value; a mere field `graph` is none. Or `torch.accelerator.Graph`."""
    if not isinstance(part, ast.Attribute) or not isinstance(part.ctx, ast.Load):
        return False
    owner = part.value
    if part.attr != "graph":
        return part.attr == "Graph" and last_name(owner) == "accelerator"
    if isinstance(owner, ast.Call):  # what gives a module is called without arguments, or known
        return not owner.args or last_name(owner.func) in operations.listed("module_getters")
    return last_name(owner).lstrip("_") in operations.listed("device_modules")


def _calls_graph(call: ast.Call) -> bool:
    """`anything.graph(...)`, or `getattr(module, "graph")`; `self.graph(...)` calls a field of that name."""
    if type(call.func) is ast.Attribute:
        owner = call.func.value
        is_other = type(owner) is ast.Name and owner.id in operations.listed("owners_of_other_graphs")
        return call.func.attr == "graph" and bool(call.args or call.keywords) and not is_other
    return type(call.func) is ast.Name and call.func.id == "getattr" and _takes_graph(call.args)


def _takes_graph(given: Sequence[ast.expr]) -> bool:
    """`getattr(anything, "graph")`; with a default, as of a field that may be missing, of a device module."""
    if len(given) > 2 and last_name(given[0]) not in operations.listed("device_modules"):
        return False
    return any(
        isinstance(each, ast.Constant) and each.value in operations.listed("capturing") for each in given
    )


def is_declared(node: ast.AST) -> bool:
    """Whether a comment, the configuration or a profile declares a function to be captured."""
    return bool(getattr(node, "_declared", False))


def is_declared_by_profile(node: ast.AST) -> bool:
    """Whether it is a profile that says so: its framework warms up before it captures."""
    return isinstance(getattr(node, "_declared", False), str)


def is_declared_compiled(node: ast.AST) -> bool:
    """Whether a profile says that a captured function is compiled before."""
    return getattr(node, "_declared", False) == "compiled"
