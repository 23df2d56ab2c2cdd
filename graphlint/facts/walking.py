"""Walking syntax trees quickly: the nodes that say something, contexts and operators left out.

`ast.walk` spends most of its time on fields that can hold no node. Which ones can is known for each type.
"""

from __future__ import annotations

import ast

from graphlint.facts.looking import NOTING, may_say

# Names, texts, numbers and marks; `ctx`, `op` and `ops` hold nodes, but none that anybody asks a walk for.
_LEAVES = frozenset(
    {
        "arg",
        "asname",
        "attr",
        "conversion",
        "ctx",
        "id",
        "is_async",
        "kind",
        "kwd_attrs",
        "level",
        "module",
        "name",
        "op",
        "ops",
        "rest",
        "simple",
        "tag",
        "type_comment",
        "type_ignores",
    }
)
# Their fields of other names hold no node either.
_CHILDLESS = (ast.Constant, ast.Global, ast.Nonlocal, ast.MatchSingleton)
# Their lists hold None where nothing is written: keys of `**rest`, defaults that are not there.
_WITH_GAPS = frozenset({ast.Dict, ast.arguments})
_parts: dict[type[ast.AST], tuple[str, ...]] = {}


def _parts_of(kind: type[ast.AST]) -> tuple[str, ...]:
    fields = () if issubclass(kind, _CHILDLESS) else kind._fields
    leaves = _LEAVES - {"name"} if kind.__name__ == "TypeAlias" else _LEAVES
    _parts[kind] = tuple(name for name in fields if name not in leaves)
    return _parts[kind]


def children(node: ast.AST, word: str = "") -> list[ast.AST]:
    """The nodes directly below `node`, in the order of its fields.

    The body of a function that is kept as text is left out where it lacks the `word`.
    """
    held = node.__dict__
    found: list[ast.AST] = []
    kind = type(node)
    for name in _parts[kind] if kind in _parts else _parts_of(kind):
        value = held.get(name)
        if type(value) is list:
            found += value
        elif value is not None:
            found.append(value)
        elif kind in NOTING and name == "body" and may_say(node, word):
            found += node.body  # type: ignore[attr-defined]
    return [part for part in found if part is not None] if kind in _WITH_GAPS else found


def walk(tree: ast.AST, word: str = "") -> list[ast.AST]:
    """`tree` and all nodes below it, the nearest first, as `ast.walk` gives them.

    Bodies of functions that are kept as text are left out where they lack the `word`.
    """
    found: list[ast.AST] = [tree]
    known = _parts
    for node in found:  # grows as it is read
        kind = type(node)
        names = known[kind] if kind in known else _parts_of(kind)
        if not names:
            continue
        held = node.__dict__
        for name in names:
            value = held.get(name)
            if value is None:
                if kind in NOTING and name == "body" and may_say(node, word):
                    found += node.body  # type: ignore[attr-defined]
            elif type(value) is not list:
                found.append(value)
            elif kind in _WITH_GAPS:
                found += [part for part in value if part is not None]
            else:
                found += value
    return found
