"""Requests that captured code looks for: `if self.due: self.plan(); self.due = False`.

Where the request was not made at the capture, the graph has nothing of what it asks for. A program that makes
it before a replay waits for captured Python to see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import renewals
from graphlint.analysis.graphs import Capture, HostUse, Write, value_in
from graphlint.analysis.values import Const
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def ignored(m: Machine, record: Capture, use: HostUse) -> Write | None:
    """The write that made a request which only captured code takes back, and which replays do not see."""
    for cell in use.cells & record.host_reads.keys():
        read = record.host_reads[cell]
        then, now = read.value, value_in(read.fields, read.key)
        if not _are_flags(then, now) or not isinstance(cell[1], str):
            continue
        assert isinstance(now, Const)
        if cell[1] not in _taken_back(use.place.node, use.place.module.tree):
            continue
        made = [w for w in renewals.writes_since(m, record, cell) if w.step > record.step]
        if made and all(isinstance(w.value, Const) and w.value.value is now.value for w in made):
            return made[-1]
    return None


def _are_flags(then: object, now: object) -> bool:
    """Whether a flag was down at the capture and is up now."""
    if not isinstance(then, Const) or not isinstance(now, Const):
        return False
    return then.value is False and now.value is True


def _taken_back(test: ast.AST, tree: ast.Module) -> frozenset[str]:
    """The fields that the arm under a test takes back by setting them to False."""
    return _arms(tree).get(id(test), frozenset())


@per_node
def _arms(tree: ast.AST) -> dict[int, frozenset[str]]:
    return {id(node.test): _lowered(node) for node in walk(tree) if isinstance(node, ast.If)}


def _lowered(node: ast.If) -> frozenset[str]:
    assigned = (part for each in node.body for part in ast.walk(each) if isinstance(part, ast.Assign))
    down = [part for part in assigned if isinstance(part.value, ast.Constant) and part.value.value is False]
    return frozenset(t.attr for part in down for t in part.targets if isinstance(t, ast.Attribute))
