"""Walking syntax trees quickly: the nodes that say something, contexts and operators left out.

`ast.walk` spends most of its time on fields that can hold no node. Which ones can is known for each type.
"""

from __future__ import annotations

from graphlint.facts import nodes as ast
from graphlint.facts.looking import NOTING, may_say
from graphlint.facts.nodes import PARTS

# Their lists hold None where nothing is written: keys of `**rest`, defaults that are not there.
_WITH_GAPS = frozenset({ast.Dict, ast.arguments})


def children(node: ast.AST, word: str = "") -> list[ast.AST]:
    """The nodes directly below `node`, in the order of its fields.

    The body of a function that is kept as text is left out where it lacks the `word`.
    """
    found: list[ast.AST] = []
    kind = type(node)
    for name in PARTS[kind]:
        if name == "body" and kind in NOTING and not may_say(node, word):
            continue
        value = getattr(node, name, None)
        if type(value) is list:
            found += value
        elif value is not None:
            found.append(value)
    return [part for part in found if part is not None] if kind in _WITH_GAPS else found


def walk(tree: ast.AST, word: str = "") -> list[ast.AST]:
    """`tree` and all nodes below it, the nearest first, as `ast.walk` gives them.

    Bodies of functions that are kept as text are left out where they lack the `word`.
    """
    found: list[ast.AST] = [tree]
    for node in found:  # grows as it is read
        kind = type(node)
        for name in PARTS[kind]:
            if name == "body" and kind in NOTING and not may_say(node, word):
                continue
            value = getattr(node, name, None)
            if type(value) is not list:
                if value is not None:
                    found.append(value)
            elif kind in _WITH_GAPS:
                found += [part for part in value if part is not None]
            else:
                found += value
    return found
