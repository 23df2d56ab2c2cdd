"""Tests of a counter in captured code: whether the answer of the capture is that of every replay.

`if self.updates % 2 == 0` has another answer next time, `if self.updates > 0` has the same one for good.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphlint.analysis.graphs import HostUse, Read, Write
from graphlint.analysis.parts import cells_of
from graphlint.analysis.values import Cell, Const
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node

BELOW = (ast.Lt, ast.LtE)
ABOVE = (ast.Gt, ast.GtE)


def will_answer_otherwise(use: HostUse, read: Read, cell: Cell, writes: Sequence[Write]) -> bool | None:
    """Whether a number answers a test otherwise later than it did at the capture; None for no counter."""
    then, answer = read.value, use.value
    if not (isinstance(then, Const) and type(then.value) is int and isinstance(answer, Const)):
        return None
    if not any(_counts_up(write, cell) for write in writes):
        return None
    test = use.place.node
    if _has_remainder(test):
        return True
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    on_left = str(cell[1]) in _names(test.left)
    small, large = (BELOW, ABOVE) if on_left else (ABOVE, BELOW)
    return isinstance(test.ops[0], small if answer.value else large)


def _counts_up(write: Write, cell: Cell) -> bool:
    node = write.place.node
    if isinstance(node, ast.AugAssign):
        return write.augmented and isinstance(node.op, ast.Add)
    is_sum = isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp)
    return is_sum and cell in cells_of(write.value)


@per_node
def _has_remainder(node: ast.AST) -> bool:
    return any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) for part in ast.walk(node))


@per_node
def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, (ast.Name, ast.Attribute))
    )
