"""Tables of a module that are too long to be evaluated entry by entry: tuned settings, lists of kernels.

Every root that comes to one would take thousands of steps for constants that it asks for by keys which are
not known. What is known of such a table is what its annotation says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import hints
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import Change, Host, Mapping, Sequence_, Unknown, Value
from graphlint.facts import nodes as ast
from graphlint.facts.looking import SCOPES
from graphlint.facts.pernode import per_node
from graphlint.facts.walking import children

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

# How many expressions the display of a table may hold, bodies of lambdas left out. Registries that programs
# ask by known keys have fewer, in all trees met so far.
MOST_EXPRESSIONS = 2_000
_KINDS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


def known_of(m: Machine, statement: ast.AST, frame: Frame) -> Value | None:
    """What is known of the table that a statement binds, where it is too long; None for anything else."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return None
    display = statement.value
    if not (isinstance(display, ast.Dict) or type(display) in _KINDS) or not _is_long(display):
        return None
    place = frame.place(display)
    if isinstance(statement, ast.AnnAssign):
        return hints.value_of(m, statement.annotation, frame.module, Change.CONFIG, place)
    entry = Unknown("entry of a long table")
    if isinstance(display, ast.Dict):
        made = Mapping(place)
        made.fields[Mapping.REST] = (Host("any", Change.CONFIG), entry)
        return made
    return Sequence_((), _KINDS[type(display)], entry, Change.CONFIG)


@per_node
def _is_long(display: ast.expr) -> bool:
    """Whether evaluating a display takes too many steps; the bodies of lambdas in it are not run."""
    pending: list[ast.AST] = [display]
    count = 0
    while pending and count <= MOST_EXPRESSIONS:
        node = pending.pop()
        count += isinstance(node, ast.expr)
        if type(node) not in SCOPES:
            pending += children(node)
    return count > MOST_EXPRESSIONS
