"""`try`: what is tried, the handlers as alternatives to its success, and `finally`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from graphlint.analysis import (
    branches,
    certainty,
    conditions,
    names,
    statements,
)
from graphlint.analysis.events import CaptureGuarded
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import (
    Const,
    Unknown,
)
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
    for handler in node.handlers:
        if names.cannot_fail(m, frame.module, node.body, handler):
            continue
        arms.append(partial(_handle_failure, m, node, handler, before, frame))
    if len(arms) == 1:
        success()
    else:
        branches.fork(m, frame, arms)
    reached, frame.reachable = frame.reachable, True
    statements.execute(m, node.finalbody, frame)
    frame.reachable = frame.reachable and reached


def _handle_failure(m: Machine, node: ast.Try, handler: ast.ExceptHandler, before: int, frame: Frame) -> None:
    if _is_answered(node, frame):
        frame.reachable = False
    else:
        _handle(m, handler, m.finished[before:], frame)


def _is_answered(node: ast.Try, frame: Frame) -> bool:
    """Whether all that is tried is a question that was answered: `return torch.cuda.is_available()`."""
    is_question = len(node.body) == 1 and isinstance(node.body[0], ast.Return)
    answer = frame.returned[-1] if is_question and frame.returned else None
    return isinstance(answer, Const) and isinstance(answer.value, bool)


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


def _asks(caught: ast.expr) -> bool:
    """Whether a handler is the other answer to a question: `except KeyError` after `return table[key]`."""
    types = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    asking = operations.listed("asking_errors")
    return any(isinstance(each, ast.Name) and each.id in asking for each in types)


def _leaves_program(handler: ast.ExceptHandler) -> bool:
    """Whether a handler raises, on some way through it: then it does not just go on without the graph."""
    return any(isinstance(part, ast.Raise) for part in walk(handler))
