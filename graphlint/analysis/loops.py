"""Loops: running a body often enough to see repetition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    assignments,
    conditions,
    expressions,
    generators,
    iterations,
    orders,
    parallel,
    phases,
    statements,
    tensor_ops,
)
from graphlint.analysis.events import LoopStarted
from graphlint.analysis.frames import Frame, Loop
from graphlint.analysis.values import (
    Change,
    Const,
    Host,
    Obj,
    Tensor,
    Value,
    alternatives,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def run_for(m: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    """A `for` loop: known elements one by one, else twice outside a capture and once inside."""
    loaders = len(m.loaders)
    iterable = generators.begun(m, expressions.evaluate(m, node.iter, frame))
    parallel.draw(m, iterable)
    _announce(m, node, iterable, frame)
    _run_over(m, node, iterable, frame)
    del m.loaders[loaders:]


def _run_over(m: Machine, node: ast.For | ast.AsyncFor, iterable: Value, frame: Frame) -> None:
    if isinstance(iterable, Obj) and iterable.cls == "generator" and generators.is_project(iterable):
        generators.run_body(m, iterable, node, frame)
        return
    values = iterations.chosen(m, iterable)
    if not m.captures and len(values) < iterations.count_of(iterable) and phases.has(node):
        values = [values[0], *(Host("int", Change.CHANGING) for _ in range(phases.TURNS - 1))]
    if not values:
        statements.execute(m, node.orelse, frame)
        return
    if not m.captures:
        values = phases.told_apart(node, values)
    _run_iterations(m, node, iterable, values, frame)


def _announce(m: Machine, node: ast.For | ast.AsyncFor, iterable: Value, frame: Frame) -> None:
    for part in alternatives(iterable):
        if isinstance(part, Tensor) and part.on_device and part.ndim == 0 and m.captures:
            tensor_ops.effect(m, node.iter, "Tensor.__iter__", "scalar-read", (part,), frame, how="for")
    m.emit(LoopStarted(place=frame.place(node), iterable=iterable, data=node))


def _run_iterations(
    m: Machine, node: ast.For | ast.AsyncFor, iterable: Value, values: list[Value], frame: Frame
) -> None:
    loop = Loop(
        m.heap.open(), frame.place(node), iterations.count(iterable), iterable, orders.of(m, iterable)
    )
    frame.loops.append(loop)
    counted, turns_, captured = m.counted, len(values), len(m.finished)
    for value in values:
        before = len(m.finished)
        m.step += not m.captures
        loop.current = value
        loop.iteration += 1
        began = m.steps
        element = value if m.captures else iterations.followed(m, value, loop)
        assignments.assign(m, node.target, element, frame, node.target)
        run_once(m, node.body, loop, frame)
        if not frame.reachable:
            break
        if loop.iteration == 1 and iterations.says_enough(m, node, iterable, began):
            del values[1:-1]
            turns_ = len(values)
        if m.captures or loop.iteration != turns_:
            continue
        late = 1 < turns_ != loop.count and captured == before < len(m.finished)
        if late or m.counted > counted:
            # something is done in some turns only: the next one finds it
            values.append(iterations.renewed(value))
    if frame.reachable:
        statements.execute(m, node.orelse, frame)
    frame.loops.pop()
    _leave(m, loop, frame)


def run_once(m: Machine, body: list[ast.stmt], loop: Loop, frame: Frame) -> None:
    """One iteration; `continue` rejoins the end of the body."""
    loop.continues.clear()
    statements.execute(m, body, frame)
    if not loop.continues:
        return
    outcomes = list(loop.continues)
    if frame.reachable:
        outcomes.append(m.heap.snapshot(loop.level))
    m.heap.undo()
    m.heap.open()
    m.heap.merge(outcomes)
    frame.reachable = True


def run_yielded(m: Machine, node: ast.For | ast.AsyncFor, item: Value, loop: Loop, frame: Frame) -> None:
    """The body of a loop over a generator, for one element that it has yielded."""
    loop.level = m.heap.open()
    loop.iteration += 1
    frame.loops.append(loop)
    assignments.assign(m, node.target, item, frame, node.target)
    run_once(m, node.body, loop, frame)
    frame.loops.remove(loop)
    _leave(m, loop, frame)
    loop.breaks.clear()
    frame.reachable = True


def _leave(m: Machine, loop: Loop, frame: Frame) -> None:
    if not loop.breaks:
        m.heap.close()
        return
    outcomes = list(loop.breaks)
    if frame.reachable:
        outcomes.append(m.heap.snapshot(loop.level))
    m.heap.undo()
    m.heap.merge(outcomes)
    frame.reachable = True


def run_while(m: Machine, node: ast.While, frame: Frame) -> None:
    """A `while` loop: its test is control flow; the body runs at most twice."""
    counter, order = orders.counted(node)
    loop = Loop(m.heap.open(), frame.place(node.test), order=order)
    frame.loops.append(loop)
    in_phases = bool(counter) and not m.captures and phases.has(node)
    for _ in range(1 if m.captures else phases.TURNS if in_phases else 2):
        loop.iteration += 1
        if in_phases and loop.iteration > 1 and isinstance(frame.env.fields.get(counter), Const):
            m.heap.write(frame.env.fields, counter, Host("int", Change.CHANGING))
        _follow_counter(m, counter, loop, frame)
        m.step += not m.captures
        value = expressions.evaluate(m, node.test, frame)
        truth = conditions.test(m, value, node.test, frame, "while")
        if truth is False:
            break
        run_once(m, node.body, loop, frame)
        if not frame.reachable:
            break
    if frame.reachable:
        statements.execute(m, node.orelse, frame)
    frame.loops.pop()
    _leave(m, loop, frame)


def _follow_counter(m: Machine, counter: str, loop: Loop, frame: Frame) -> None:
    """Tell where the number that a `while` loop counts with is used, as for the element of a `for` loop."""
    value = frame.env.fields.get(counter)
    if not m.captures and isinstance(value, (Const, Host)):
        m.loop_cells[(id(loop), "element")] = loop
        m.heap.write(frame.env.fields, counter, iterations.with_loop_cell(value, (id(loop), "element")))
