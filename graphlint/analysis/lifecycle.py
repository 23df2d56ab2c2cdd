"""Which parts of a program are run, and in which order: construct, capture, then step after step.

Every root (see `roots`) gets a machine of its own. A class is lived through: constructor, what prepares
it, what captures, then everything else in the order of the text, and what replays again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    calls,
    given_arguments,
    lives,
    names,
    parallel,
    statements,
    stepping,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame
from graphlint.analysis.libraries import stdlib
from graphlint.analysis.roles import holds
from graphlint.analysis.roots import Root, is_constructed, is_run_by_script
from graphlint.analysis.values import (
    Change,
    Function,
    Mapping,
    Obj,
    Sequence_,
    Unknown,
    Value,
    alternatives,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def run(m: Machine, root: Root) -> None:
    """Run one root from a fresh state."""
    frame = Frame(root.module, m.env_of(root.module), "<module>")
    m.frames.append(frame)
    m.goal, m.goals = root.node, root.goals
    try:
        m.script = isinstance(root.node, ast.Module) or is_run_by_script(root)
        m.is_part = is_constructed(root)
        if isinstance(root.node, ast.Module):
            statements.execute(m, root.node.body, frame)
        elif isinstance(root.node, ast.ClassDef):
            lives.live_class(m, root, frame)
        else:
            _run_function(m, root, frame)
        _run_uncalled(m, frame)
        _leave(m, frame)
        parallel.look_again(m)
    finally:
        m.frames.pop()
        while m.captures:
            m.captures.pop()


def _run_function(m: Machine, root: Root, frame: Frame) -> None:
    value = names.module_attribute(m, root.module, root.qualname)
    if value is None or isinstance(value, Unknown):
        return
    result = calls.call(m, value, given_arguments.of(m, value, Change.CONFIG), root.node, frame)
    frame.returned.append(result)  # whoever calls the root holds all of it
    _use_result(m, result, frame, root.node)


def _leave(m: Machine, frame: Frame) -> None:
    """Run what the program has registered for its end, the last one first."""
    for leaving, place in reversed(m.memo.get(stdlib.AT_EXIT, ())):
        m.step += 1
        calls.call(m, leaving, Arguments(), place.node, frame, place)


def _run_uncalled(m: Machine, frame: Frame) -> None:
    """Functions defined inside others that capture and that nobody called: hooks, callbacks, tasks."""
    for function in m.nested:
        if id(function.node) not in m.executed:
            calls.call(m, function, given_arguments.of(m, function, Change.CONFIG), function.node, frame)


def _use_result(m: Machine, result: Value, frame: Frame, node: ast.AST, depth: int = 2) -> None:
    """Go on with what a root returned: call closures twice, run generators, step objects that replay."""
    for part in alternatives(result):
        stepping.drive(m, part)
        if isinstance(part, Function) and part.env is not None:
            for _ in range(2):
                m.step += 1
                m.timeline.forget()  # what calls it may wait in between
                calls.call(m, part, given_arguments.of(m, part, Change.CHANGING), node, frame)
        elif isinstance(part, Obj) and isinstance(part.cls, ClassInfo) and holds(part.cls):
            stepping.step_object(m, part, frame, node)
        elif depth and isinstance(part, Sequence_):
            for item in part.items:
                _use_result(m, item, frame, node, depth - 1)
        elif depth and isinstance(part, Mapping):
            for _, item in part.entries():
                _use_result(m, item, frame, node, depth - 1)
