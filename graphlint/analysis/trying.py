"""`try`: what is tried, the handlers as alternatives to its success, and `finally`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from graphlint.analysis import (
    branches,
    certainty,
    conditions,
    equality,
    names,
    narrowing,
    statements,
)
from graphlint.analysis.events import CaptureGuarded
from graphlint.analysis.frames import Frame
from graphlint.analysis.identities import identity_of
from graphlint.analysis.values import (
    Const,
    Mapping,
    Sequence_,
    Unknown,
    Value,
)
from graphlint.facts import nodes as ast
from graphlint.facts.walking import walk
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine


def run(m: Machine, node: ast.Try, frame: Frame) -> None:
    """The body, then each handler as an alternative to the body's success, then `finally`."""
    before = len(m.finished)

    def success() -> None:
        statements.execute(m, node.body, frame)
        statements.execute(m, node.orelse, frame)

    arms: list[Callable[[], None]] = [success]
    missed = _handler_of_missed(m, node, frame)
    if missed is not None:
        arms = [partial(statements.execute, m, missed.body, frame)]
    for handler in node.handlers if missed is None else ():
        if names.cannot_fail(m, frame.module, node.body, handler):
            continue
        arms.append(partial(_handle_failure, m, node, handler, before, frame))
    if len(arms) == 1:
        arms[0]()
    else:
        branches.fork(m, frame, arms)
    reached, frame.reachable = frame.reachable, True
    statements.execute(m, node.finalbody, frame)
    frame.reachable = frame.reachable and reached


def _handle_failure(m: Machine, node: ast.Try, handler: ast.ExceptHandler, before: int, frame: Frame) -> None:
    if _is_answered(node, frame) or (_asks(handler.type) and _is_there(m, node, frame)):
        frame.reachable = False
    else:
        _handle(m, handler, m.finished[before:], frame)


def _is_answered(node: ast.Try, frame: Frame) -> bool:
    """Whether all that is tried is a question that was answered: `return torch.cuda.is_available()`."""
    is_question = len(node.body) == 1 and isinstance(node.body[0], ast.Return)
    answer = frame.returned[-1] if is_question and frame.returned else None
    return isinstance(answer, Const) and isinstance(answer.value, bool)


def _is_there(m: Machine, node: ast.Try, frame: Frame) -> bool:
    """Whether all that is tried is looking up what is known to be there: `return self.table[key]`."""
    sought = _sought(node)
    if isinstance(sought, ast.Subscript):
        table, key = _known(m, sought.value, frame), _known(m, sought.slice, frame)
        if isinstance(table, Sequence_) and isinstance(key, Const) and type(key.value) is int:
            # What may have been taken out of a list is not known of its elements.
            return table.kind == "tuple" and -len(table.items) <= key.value < len(table.items)
        identity = identity_of(key) if key is not None else None
        return isinstance(table, Mapping) and identity is not None and table.fields.get(identity) is not None
    if isinstance(sought, ast.Attribute):
        found = narrowing.quiet(m, sought, frame)
        return found is not None and not isinstance(found, Unknown)
    return False


def _handler_of_missed(m: Machine, node: ast.Try, frame: Frame) -> ast.ExceptHandler | None:
    """What runs where all that is tried is looking up a key that is certainly not there."""
    sought = _sought(node)
    if m.captures or not isinstance(sought, ast.Subscript) or not node.handlers:
        return None
    table, key = _known(m, sought.value, frame), _known(m, sought.slice, frame)
    if not isinstance(table, Mapping) or table.factory is not None:  # a defaultdict misses nothing
        return None
    if key is None or equality.contains(table, key) is not False:
        return None
    first = node.handlers[0]
    is_plain = isinstance(first.type, ast.Name) and first.type.id == "KeyError" and first.name is None
    return first if is_plain else None


def _sought(node: ast.Try) -> ast.expr | None:
    """The value of the one statement that is tried."""
    return getattr(node.body[0], "value", None) if len(node.body) == 1 else None


def _known(m: Machine, node: ast.expr, frame: Frame) -> Value | None:
    """What a constant, a name or an attribute path is, without looking for it."""
    if isinstance(node, ast.Constant):
        return Const(node.value)
    found = narrowing.quiet(m, node, frame)
    if found is None and isinstance(node, ast.Name):
        known = m.env_of(frame.module).fields.get(node.id)
        return known if isinstance(known, Value) else None
    return found


def _handle(m: Machine, handler: ast.ExceptHandler, captured: list[Capture], frame: Frame) -> None:
    """A handler, from the state before the body: what the body had done by then is not known."""
    test = handler.type or ast.Constant(True)
    mark = len(frame.conditions)
    ast.copy_location(test, handler)
    failure = Unknown("exception") if captured or _asks(test) else certainty.FAILURE
    conditions.push(m, test, failure, True, False, frame)
    if handler.name:
        m.heap.write(frame.env.fields, handler.name, failure)
    m.handling += bool(captured)
    try:
        statements.execute(m, handler.body, frame)
        if captured and not _leaves_program(handler):
            m.emit(CaptureGuarded(place=frame.place(test), guarded=captured))
    finally:
        m.handling -= bool(captured)
        del frame.conditions[mark:]


def _asks(caught: ast.expr | None) -> bool:
    """Whether a handler is the other answer to a question: `except KeyError` after `return table[key]`."""
    types = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    asking = operations.listed("asking_errors")
    return any(isinstance(each, ast.Name) and each.id in asking for each in types)


def _leaves_program(handler: ast.ExceptHandler) -> bool:
    """Whether a handler raises, on some way through it: then it does not just go on without the graph."""
    return any(isinstance(part, ast.Raise) for part in walk(handler))
