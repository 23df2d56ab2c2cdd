"""Captures that take the place of earlier ones: which writes an older graph can still be blamed for.

Where a name may stand for an older graph or for one that was captured later under a test, the older one is
replayed only where the test said that it still holds. A write that makes the test say otherwise, and one in a
function that captures, therefore comes with the new graph; any other write the older graph has missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from graphlint.analysis import conditions, own_text, settled
from graphlint.analysis.frames import Condition, Place
from graphlint.analysis.graphs import Capture, Write
from graphlint.analysis.values import Cell, Obj
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def note_tests(m: Machine, capture: Capture) -> None:
    """Remember the functions that a capture is made in, and the fields that decide whether it is made."""
    capture.facts["functions"] = frozenset((f.module.path, f.qualname) for f in m.frames)
    open_tests = [c for frame in m.frames for c in frame.conditions if not c.decided]
    capture.facts["tests"] = frozenset().union(*map(_fields_tested, open_tests))
    capture.facts["under"] = conditions.undecided(m)
    capture.facts["settled"] = settled.here(m)


def _fields_tested(condition: Condition) -> frozenset[str]:
    """The fields that a test looks at, itself or through methods and properties of the same file."""
    place = condition.place
    found = set(conditions.attributes_in(place.node))
    pending = set(found)
    while pending:
        bodies = [node for name, node in place.module.functions() if name.rpartition(".")[2] in pending]
        pending = set().union(*map(conditions.attributes_in, bodies)) - found
        found |= pending
    return frozenset(found)


def renewal(record: Capture, among: Sequence[Obj]) -> Capture | None:
    """The latest capture of the same region that may be replayed in this one's place.

    Graphs kept by key are no such: each of them finds its own inputs.
    """
    later = [
        other
        for graph in among
        if isinstance(other := graph.fields.get("record"), Capture)
        and other.place.key == record.place.key
        and other.clock > record.clock
        and not graph.fields.get("keys")
    ]
    return max(later, key=lambda other: other.clock, default=None)


def writes_since(m: Machine, record: Capture, cell: Cell) -> list[Write]:
    """The writes to a cell after a capture ended, outside any capture, that did not come with its renewal."""
    writes = [w for w in m.writes.get(cell, ()) if w.clock >= record.clock and not w.capturing]
    writes = [w for w in writes if not any(condition in m.resets for condition in w.under)]
    here = settled.here(m)
    writes = [w for w in writes if not settled.excludes(record, (*w.under, *w.passed), here)]
    again = [other for other in m.finished if other.place.key == record.place.key]
    writes = [w for w in writes if not any(_answers(other, w) for other in again)]
    renewed = record.renewed
    if renewed is None:
        return writes
    return [w for w in writes if w.clock >= renewed.clock or not _comes_with(m, renewed, w)]


def replaced_since(m: Machine, record: Capture) -> Iterator[tuple[Place, Place]]:
    """Where a capture read memory that was swapped after it, and where; not by what makes another one due."""
    for storage, read_at in record.storages.items():
        for place, time in storage.replaced.values():
            if time >= record.clock and not _makes_due(m, record, place):
                yield read_at, place


def _makes_due(m: Machine, record: Capture, place: Place) -> bool:
    """Whether the method of a place also empties a field that the functions which capture ask for."""
    key = ("emptied with", place.module.path, place.function)
    emptied: frozenset[str] | None = m.memo.get(key)
    if emptied is None:
        emptied = m.memo[key] = frozenset().union(*map(_emptied_fields, _reached(place)))
    callers = [frame.function.node for frame in record.facts["frames"] if frame.function is not None]
    return any(not emptied.isdisjoint(_asked_for(node)) for node in callers)


@summary
def _emptied_fields(node: ast.AST) -> frozenset[str]:
    """The names of attributes that a function sets to None, or clears."""
    found = set()
    for part in walk(node):
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant) and part.value.value is None:
            found |= {target.attr for target in part.targets if isinstance(target, ast.Attribute)}
        elif (
            isinstance(part, ast.Attribute) and part.attr == "clear" and isinstance(part.value, ast.Attribute)
        ):
            found.add(part.value.attr)
    return frozenset(found)


@summary
def _asked_for(node: ast.AST) -> frozenset[str]:
    """The names of attributes that the tests of a function look at."""
    tests = [part.test for part in walk(node) if isinstance(part, ast.If)]
    return frozenset().union(*map(conditions.attributes_in, tests))


def _answers(again: Capture, write: Write) -> bool:
    """Whether a capture of the same region follows a write under the very test that the write is under."""
    under = again.facts.get("under", ())
    return bool(write.under) and again.clock > write.clock and all(c in under for c in write.under)


def _comes_with(m: Machine, renewed: Capture, write: Write) -> bool:
    tests = renewed.facts.get("tests", frozenset())
    place = write.place
    if not tests or write.local or (place.module.path, place.function) in renewed.facts["functions"]:
        return True
    return not tests.isdisjoint(_fields_written_with(m, place))


def _fields_written_with(m: Machine, place: Place) -> frozenset[str]:
    """The fields that the method of a write sets, itself or through other methods of its class."""
    key = ("written with", place.module.path, place.function)
    found: frozenset[str] | None = m.memo.get(key)
    if found is None:
        found = m.memo[key] = frozenset().union(*map(_changed_fields, _reached(place)))
    return found


def _reached(place: Place) -> list[ast.AST]:
    scope, _, name = place.function.rpartition(".")
    prefix = f"{scope}." if scope else ""
    methods = {
        qualname.removeprefix(prefix): node
        for qualname, node in place.module.functions()
        if qualname.startswith(prefix) and "." not in qualname.removeprefix(prefix)
    }
    return [methods[reached] for reached in own_text.names_reached(methods, name)]


@summary
def _changed_fields(node: ast.AST) -> frozenset[str]:
    """The names of attributes that a function sets, or calls a method of: `self.graphs.clear()`."""
    stored = {p.attr for p in walk(node) if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Store)}
    called = [
        p.func.value for p in walk(node) if isinstance(p, ast.Call) and isinstance(p.func, ast.Attribute)
    ]
    return frozenset(stored | {owner.attr for owner in called if isinstance(owner, ast.Attribute)})
