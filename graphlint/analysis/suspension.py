"""Generator contexts that are entered in one place and left in another: exit stacks, `__enter__` by hand.

A generator that is entered runs to its first `yield` and stays there. Python would keep its frame; here
the frame's names are kept, and leaving runs what its text has after that `yield`, from the inside out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis import generators, statements
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import Obj, Unknown, Value
from graphlint.facts import nodes as ast
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

Exit = Callable[[], None]


class Suspended(Exception):
    """Leaves a generator at its first `yield`."""


@dataclass(slots=True)
class _At:
    """Where a generator waits: its frame, the `yield`, and the contexts that are open around it."""

    frame: Frame
    node: ast.AST
    value: Value
    exits: list[Exit] = field(default_factory=list)


def enter(m: Machine, value: Obj) -> tuple[Value, Exit]:
    """Run a generator context to its first `yield`: what that gives, and how to go on from there."""
    opened, journals = len(m.open_exits), list(m.heap.journals)
    captures = len(m.captures)
    waiting: list[_At] = []

    def on_yield(item: Value) -> Value:
        frame = m.frame
        assert frame.at_yield is not None
        waiting.append(_At(frame, frame.at_yield, item))
        raise Suspended

    m.suspending += 1
    try:
        generators.drive(m, value, on_yield)
    except Suspended:
        _close_journals(m, len(journals))
    finally:
        m.suspending -= 1
    if not waiting:
        return Unknown("context"), lambda: None
    at = waiting[0]
    at.exits = m.open_exits[opened:]
    del m.open_exits[opened:]
    _rebase(m, captures)
    return at.value, lambda: _resume(m, at)


def _close_journals(m: Machine, level: int) -> None:
    while len(m.heap.journals) > level:
        m.heap.close()


def _rebase(m: Machine, first: int) -> None:
    """Captures that the generator opened go on in the frame that entered it."""
    for capture in m.captures[first:]:
        capture.depth = len(m.frames) - 1
        capture.facts["conditions"] = len(m.frame.conditions)


def _resume(m: Machine, at: _At) -> None:
    frame = at.frame
    if isinstance(frame.function, type(None)) or isinstance(frame.function.node, ast.Lambda):
        return
    frame.reachable, frame.exits, frame.loops = True, [], []
    frame.on_yield = None
    frame.level = m.heap.open()
    m.frames.append(frame)
    try:
        _block(m, frame.function.node.body, at)
    finally:
        m.frames.pop()
        _close_journals(m, frame.level)


def _block(m: Machine, body: Sequence[ast.stmt], at: _At) -> None:
    """The rest of a block after the statement that holds the `yield`."""
    for index, statement in enumerate(body):
        if _holds(statement, at.node):
            _statement(m, statement, at)
            if at.frame.reachable:
                statements.execute(m, body[index + 1 :], at.frame)
            return


def _statement(m: Machine, statement: ast.stmt, at: _At) -> None:
    for part in ("body", "handlers", "orelse", "finalbody"):
        block = getattr(statement, part, None)
        if isinstance(block, list) and any(_holds(inner, at.node) for inner in block):
            _block(m, block, at)
    if isinstance(statement, ast.Try) and not any(_holds(s, at.node) for s in statement.finalbody):
        at.frame.reachable = True
        statements.execute(m, statement.finalbody, at.frame)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for _ in statement.items:
            if at.exits:
                at.exits.pop()()


def _holds(statement: ast.AST, node: ast.AST) -> bool:
    return any(part is node for part in walk(statement))
