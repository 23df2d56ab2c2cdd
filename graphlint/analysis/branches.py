"""Branches: `if`, and alternatives that are run from one state and joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from graphlint.analysis import (
    captures,
    conditions,
    deferral,
    device_checks,
    expressions,
    guards,
    idle_branches,
    narrowing,
    once,
    pinned_numbers,
    refills,
    rounds,
    settled,
    statements,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.heap import Snapshot
from graphlint.analysis.values import (
    Value,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def run_if(m: Machine, node: ast.If, frame: Frame, rest: Sequence[ast.stmt] = ()) -> bool:
    """An `if`; with `rest` what follows belongs to the other arm of an undecided test.

    Tells whether that has run.
    """
    uses = len(m.captures[-1].host_uses) if m.captures else 0
    value = expressions.evaluate(m, node.test, frame)
    if rounds.open_count(m, node.test, value, frame):
        value = expressions.evaluate(m, node.test, frame)
    truth = conditions.test(m, value, node.test, frame, "if")
    if truth is None:
        truth = once.settled(m, node, value, frame)
    elif rest and not truth and deferral.is_in_lost_call(m):
        truth = None  # a warm-up that was not followed may have filled what is looked up
    if truth is not None:
        m.arms.add((id(node), truth))
        arm = node.body if truth else node.orelse
        _run_under(m, node.test, value, truth, True, arm, frame)
        if not truth and isinstance(node.body[-1], (ast.Return, ast.Raise)):
            settled.note_left(m, node.test, value, True, True, frame)
        return False
    guard = guards.of_test(m, node.test, frame)

    def run(polarity: bool) -> None:
        arm = node.body if polarity else [*node.orelse, *rest]
        _run_under(m, node.test, value, polarity, False, arm, frame)
        if guard is not None:
            guard.arm_ended(polarity, frame)

    watch = idle_branches.watch(m, frame, uses)
    arms = [once.noting(m, node, answer, frame, partial(run, answer)) for answer in (True, False)]
    wrote = fork(m, frame, arms, lambda: refills.watch(m, node.test))
    if guard is not None:
        guard.settle(m)
    if watch is not None:
        watch.end(m, frame, wrote=wrote)
    return bool(rest)


def _run_under(
    m: Machine,
    test: ast.expr,
    value: Value,
    polarity: bool,
    decided: bool,
    arm: Sequence[ast.stmt],
    frame: Frame,
) -> None:
    """Run an arm under what its test implies; an arm that leaves makes the other one's test hold after."""
    mark, passed = len(frame.conditions), len(frame.passed)
    conditions.push(m, test, value, polarity, decided, frame)
    saved = narrowing.narrow(m, test, polarity, frame)
    try:
        statements.execute(m, arm, frame)
    finally:
        narrowing.restore(m, frame, saved)
        del frame.conditions[mark:], frame.passed[passed:]
    if not decided and not frame.reachable:
        pinned_numbers.note_left(m, test, polarity, frame)
        device_checks.note_raised(m, test, polarity, arm, frame)
        if isinstance(arm[-1], (ast.Return, ast.Raise)):
            settled.note_left(m, test, value, polarity, False, frame)


def fork(
    m: Machine,
    frame: Frame,
    arms: Sequence[Callable[[], None]],
    refill: Callable[[], refills.Refill | None] = lambda: None,
) -> bool:
    """Run alternatives from the same state and join the states of those that reach their end.

    Tells whether one of those has written a cell. What `refill` gives before an arm says after it whether the
    arm runs at all.
    """
    outcomes: list[Snapshot] = []
    opened = captures.Alternatives(m)
    for arm in arms:
        m.heap.open()
        frame.reachable = True
        current = list(m.streams)
        held_back = refill()
        if held_back is not None:
            held_back.begin()
        arm()
        m.streams[:] = current
        taken = m.heap.undo()
        if held_back is not None and held_back.end(taken):
            opened.next(False)
            continue
        opened.next(frame.reachable)
        if frame.reachable:
            outcomes.append(taken)
    opened.join()
    frame.reachable = bool(outcomes)
    if outcomes:
        m.heap.merge(outcomes)
    return any(outcomes)
