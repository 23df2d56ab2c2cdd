"""Tests of configuration, which have one answer for as long as the program runs.

`if not self.use_graphs: self.reset()` and a graph that is captured under `if self.use_graphs` never happen in
one run of the program: what the reset does, no replay of that graph will see.

Such answers hold for the whole run, and are kept with captures and writes. What a test says of others
behind it, also of numbers that change, is for `correlations.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphlint.analysis import answers, conditions, narrowing
from graphlint.analysis.frames import Condition, Frame
from graphlint.analysis.identities import identity_of
from graphlint.analysis.values import Change, Host, Obj, Union, Unknown, Value, alternatives
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine

HELD = "held graph"


def condition(
    m: Machine, node: ast.expr, value: Value, polarity: bool, decided: bool, frame: Frame
) -> Condition:
    """A test that leads to what is run next, with the answers that it implies."""
    settles = () if decided else _answers(m, node, value, polarity, frame)
    return Condition(frame.place(node), value, polarity, decided, settles=settles)


def note_left(m: Machine, test: ast.expr, value: Value, polarity: bool, decided: bool, frame: Frame) -> None:
    """An arm has left the call, or would have: what follows in the block runs under the other answer."""
    frame.passed.append(condition(m, test, value, not polarity, decided, frame))


def passed(m: Machine) -> tuple[Condition, ...]:
    """The tests by which a call on the way here would have left."""
    return tuple([each for frame in m.frames if frame.passed for each in frame.passed])


def way(m: Machine) -> tuple[Condition, ...]:
    """The undecided tests on the way here, and those by which a call would have left."""
    return (*conditions.undecided(m), *passed(m))


def here(m: Machine) -> dict[object, bool]:
    """The answers that the way here has settled, by the identity of what was tested."""
    tests = [c for frame in m.frames for c in (*frame.conditions, *frame.passed) if not c.decided]
    return {tested: answer for test in tests for tested, answer in test.settles}


def excludes(record: Capture, tests: Iterable[Condition], also: dict[object, bool]) -> bool:
    """Whether a run of the program with this graph never gets to where these tests led.

    What is known of such a run is what led to the capture and, in `also`, to where it is looked at, and that
    the graph is held where it was put.
    """
    known = record.facts["settled"] | also
    if record.graph is not None:
        known[HELD, record.graph.serial] = True
    return any(known.get(tested, answer) is not answer for test in tests for tested, answer in test.settles)


def _answers(
    m: Machine, node: ast.expr, value: Value | None, polarity: bool, frame: Frame
) -> tuple[tuple[object, bool], ...]:
    """What an answer implies of configuration: of parts of a conjunction, and of tests that a name keeps."""
    found: list[tuple[object, bool]] = []
    for part, answer in answers.parts(node, polarity):
        if m.finished:
            found += _graphs_found(m, part, answer, frame)
        known = value if part is node else None
        kept = narrowing.kept_test(part.id, frame) if type(part) is ast.Name else None
        if kept is not None:
            found += _answers(m, kept, known, answer, frame)
            continue
        tested = narrowing.quiet(m, part, frame) if known is None else known
        if isinstance(tested, (Host, Unknown)) and _stays(m, part, tested, frame):
            found.append((identity_of(tested), answer))
    return tuple(found)


def _graphs_found(m: Machine, node: ast.expr, answer: bool, frame: Frame) -> list[tuple[object, bool]]:
    """What `graph is None` says of the one graph that would be there; graphs kept by key are many."""
    held = node
    if answers.asks_for_none(node):
        held, answer = node.left, not answers.finds_none(node, answer)
    found = narrowing.quiet(m, held, frame)
    graphs = [
        part
        for part in (alternatives(found) if isinstance(found, Union) else ())
        if isinstance(part, Obj) and "record" in part.fields and not part.fields.get("keys")
    ]
    return [((HELD, graph.serial), answer) for graph in graphs]


def _stays(m: Machine, node: ast.expr, value: Host | Unknown, frame: Frame) -> bool:
    """Whether what is tested stays as it is: configuration, or a field that only the constructor sets."""
    if value.change is not Change.SHAPE or type(node) is not ast.Attribute:
        return value.change <= Change.CONFIG
    fields = narrowing.fields_of(m, node.value, frame)
    writes = m.writes.get((id(fields), node.attr), ())
    return bool(writes) and all(w.by_constructor for w in writes)
