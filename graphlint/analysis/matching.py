"""`match`: which case fits a value, and what its pattern binds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphlint.analysis import (
    assignments,
    attributes,
    branches,
    conditions,
    elements,
    equality,
    expressions,
    hints,
    kinds,
    statements,
    tensor_ops,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import Const, Sequence_, Unknown, Value
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def run(m: Machine, node: ast.Match, frame: Frame) -> None:
    """Run the first case that certainly fits, and those before it that may."""
    subject = expressions.evaluate(m, node.subject, frame)
    question = _first_question(node)
    if m.captures and question is not None:
        answer = expressions.evaluate(m, question, frame)
        tensor_ops.host_use(m, node.subject, answer, "branch", frame)
    arms: list[Callable[[], None]] = []
    for case in node.cases:
        verdict = fits(m, case.pattern, subject, frame)
        if verdict is False:
            continue
        sure = verdict is True and case.guard is None
        alone = sure and not arms
        arms.append(lambda case=case, alone=alone: _run_case(m, node, case, subject, frame, alone))  # type: ignore[misc]
        if sure:
            break
    else:
        arms.append(lambda: None)
    branches.fork(m, frame, arms)


@per_node
def _first_question(node: ast.Match) -> ast.Compare | None:
    """The comparison that the first case makes when its pattern is a value: `case Stage.FIRST`."""
    pattern = node.cases[0].pattern
    if not isinstance(pattern, ast.MatchValue):
        return None
    return ast.copy_location(ast.Compare(node.subject, [ast.Eq()], [pattern.value]), node.subject)


def _run_case(
    m: Machine, node: ast.Match, case: ast.match_case, subject: Value, frame: Frame, decided: bool
) -> None:
    mark = len(frame.conditions)
    conditions.push(m, node.subject, subject, True, decided, frame)
    try:
        bind(m, case.pattern, subject, frame)
        if case.guard is not None:
            value = expressions.evaluate(m, case.guard, frame)
            if conditions.test(m, value, case.guard, frame, "case guard") is False:
                frame.reachable = False
                return
        statements.execute(m, case.body, frame)
    finally:
        del frame.conditions[mark:]


def fits(m: Machine, pattern: ast.pattern, subject: Value, frame: Frame) -> bool | None:
    """Whether a value fits a pattern; None when that is not known."""
    if isinstance(pattern, ast.MatchValue):
        return equality.equal(subject, expressions.evaluate(m, pattern.value, frame))
    if isinstance(pattern, ast.MatchSingleton):
        return equality.identical(subject, Const(pattern.value))
    if isinstance(pattern, ast.MatchOr):
        answers = [fits(m, part, subject, frame) for part in pattern.patterns]
        return True if True in answers else None if None in answers else False
    if isinstance(pattern, ast.MatchAs):
        return True if pattern.pattern is None else fits(m, pattern.pattern, subject, frame)
    if isinstance(pattern, ast.MatchClass):
        return _fits_class(m, pattern, subject, frame)
    if isinstance(pattern, ast.MatchSequence):
        return _fits_sequence(m, pattern, subject, frame)
    return None


def _typed(m: Machine, pattern: ast.pattern | None, subject: Value, frame: Frame) -> Value:
    """What an unknown value is after `case Class() as name`."""
    if not isinstance(pattern, ast.MatchClass) or not isinstance(subject, Unknown):
        return subject
    kind = expressions.evaluate(m, pattern.cls, frame)
    made = hints.of_type(m, kind, subject.change, frame.place(pattern))
    return subject if isinstance(made, Unknown) else made


def _fits_class(m: Machine, pattern: ast.MatchClass, subject: Value, frame: Frame) -> bool | None:
    answer = kinds.is_instance(subject, kinds.class_values(m, pattern.cls, frame))
    if answer is not True:
        return answer
    answers = [
        fits(m, part, attributes.get(m, subject, name, pattern, frame), frame)
        for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True)
    ]
    if False in answers:
        return False
    return None if None in answers or pattern.patterns else True


def _fits_sequence(m: Machine, pattern: ast.MatchSequence, subject: Value, frame: Frame) -> bool | None:
    if not isinstance(subject, Sequence_):
        return None if isinstance(subject, Unknown) else False
    if subject.rest is not None:
        return None
    if any(isinstance(part, ast.MatchStar) for part in pattern.patterns):
        return None if len(subject.items) >= len(pattern.patterns) - 1 else False
    if len(subject.items) != len(pattern.patterns):
        return False
    answers = [fits(m, p, item, frame) for p, item in zip(pattern.patterns, subject.items, strict=True)]
    return False if False in answers else None if None in answers else True


def bind(m: Machine, pattern: ast.pattern, subject: Value, frame: Frame) -> None:
    """Bind the names of a pattern to the parts of a value."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            bind(m, pattern.pattern, subject, frame)
        if pattern.name is not None:
            m.heap.write(frame.env.fields, pattern.name, _typed(m, pattern.pattern, subject, frame))
    elif isinstance(pattern, ast.MatchClass):
        for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            bind(m, part, attributes.get(m, subject, name, pattern, frame), frame)
        for part in pattern.patterns:
            bind(m, part, Unknown("positional part of a pattern"), frame)
    elif isinstance(pattern, ast.MatchSequence):
        star = next((i for i, p in enumerate(pattern.patterns) if isinstance(p, ast.MatchStar)), None)
        parts = assignments.unpacked(m, subject, len(pattern.patterns), star)
        for part, value in zip(pattern.patterns, parts, strict=True):
            bind(m, part, value, frame)
    elif isinstance(pattern, ast.MatchOr):
        for part in pattern.patterns:
            if fits(m, part, subject, frame) is not False:
                bind(m, part, subject, frame)
                return
    elif isinstance(pattern, ast.MatchStar) and pattern.name is not None:
        m.heap.write(frame.env.fields, pattern.name, subject)
    elif isinstance(pattern, ast.MatchMapping):
        for part in pattern.patterns:
            bind(m, part, elements.joined_elements(m, Unknown("item of a mapping")), frame)
