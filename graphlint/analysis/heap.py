"""The heap: the only writer of `fields`, so that an undecided branch can be tried and undone.

A *journal* notes the old value of every cell written since it was opened. An undecided `if` runs
each arm under a journal of its own, takes the arm's final values, undoes it, and at the end joins
the arms cell by cell. `return`, `break` and `continue` take a snapshot in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from graphlint.analysis.values import Fields, Unknown, Value, join

MISSING: Any = object()
Snapshot = dict[tuple[int, Any], tuple[Fields, Any, Any]]


class Heap:
    """Writes cells and keeps the journals; `log` has the places of writes for later blame."""

    def __init__(self) -> None:
        self.journals: list[Snapshot] = []

    def write(self, fields: Fields, key: Any, value: Any) -> None:
        if self.journals:
            journal, cell = self.journals[-1], (id(fields), key)
            if cell not in journal:
                journal[cell] = (fields, key, fields.get(key, MISSING))
        if value is MISSING:
            fields.pop(key, None)
        else:
            fields[key] = value

    def correct(self, fields: Fields, key: Any, noted: Any, old: Any) -> None:
        """What a cell held before it was written was not `noted`, a passing view of it, but `old`."""
        note = self.journals[-1].get((id(fields), key)) if self.journals else None
        if note is not None and note[2] is noted:
            self.journals[-1][(id(fields), key)] = (fields, key, MISSING if old is None else old)

    def open(self) -> int:
        """Open a journal; returns its level."""
        self.journals.append({})
        return len(self.journals) - 1

    def close(self) -> Snapshot:
        """Close the innermost journal and keep its writes; the outer journal takes over its notes."""
        closed = self.journals.pop()
        if self.journals:
            outer = self.journals[-1]
            for key, note in closed.items():
                outer.setdefault(key, note)
        return closed

    def forget(self, fields: Fields) -> None:
        """Forget the writes of names that are newer than the innermost journal: of a call that has ended.

        Undone and joined with an outcome in which there was no such call, they would come out as they are.
        """
        if self.journals:
            journal = self.journals[-1]
            for name in fields:
                journal.pop((id(fields), name), None)

    def undo(self) -> Snapshot:
        """Close the innermost journal, take back its writes and return the values they had."""
        closed = self.journals.pop()
        taken: Snapshot = {}
        for key, (fields, name, old) in closed.items():
            if old is MISSING:  # mostly a name that the arm has bound first
                taken[key] = (fields, name, fields.pop(name, MISSING))
            else:
                taken[key] = (fields, name, fields.get(name, MISSING))
                fields[name] = old
        return taken

    def snapshot(self, level: int) -> Snapshot:
        """The present values of every cell written since the journal at `level` was opened."""
        taken: Snapshot = {}
        for journal in self.journals[level:]:
            for key, (fields, name, _) in journal.items():
                taken[key] = (fields, name, fields.get(name, MISSING))
        return taken

    def merge(self, snapshots: Iterable[Snapshot]) -> None:
        """Write the join of alternative outcomes; one that left a cell alone counts with its old value."""
        outcomes = list(snapshots)
        if len(outcomes) == 1:
            for fields, name, value in outcomes[0].values():
                self.write(fields, name, value)
            return
        written: Snapshot = {}
        for taken in outcomes:
            written.update(taken)
        journal: Snapshot = self.journals[-1] if self.journals else {}
        for key, (fields, name, _) in written.items():
            old = fields.get(name, MISSING)
            values = []
            for taken in outcomes:
                note = taken.get(key)
                values.append(old if note is None else note[2])
            journal.setdefault(key, (fields, name, old))
            value = join_cells(values)
            if value is MISSING:
                fields.pop(name, None)
            else:
                fields[name] = value

    def aside(self) -> _Aside:
        """Write outside every journal: for things that happened earlier in the program's life."""
        return _Aside(self)


class _Aside:
    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        self.kept: list[Snapshot] = []

    def __enter__(self) -> None:
        self.kept, self.heap.journals = self.heap.journals, []

    def __exit__(self, *_: object) -> None:
        self.heap.journals = self.kept


def join_cells(values: list[Any]) -> Any:
    """Join what alternative outcomes left in a cell; cells hold values, tuples of them, or marks."""
    first = values[0]
    for value in values:
        if value is not first:
            break
    else:
        return first
    if len(values) == 2 and (first is MISSING or values[1] is MISSING):
        return values[1] if first is MISSING else first  # a name that one of two arms has bound
    present = [value for value in values if value is not MISSING]
    first = present[0]
    for value in present:
        if value is not first:
            break
    else:
        return first
    for kind, joined in _JOINED:
        if isinstance(first, kind) and all([isinstance(value, kind) for value in present]):
            return joined(present)
    return next((value for value in present if value is not None), first)


def _join_tuples(values: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    longest = max(values, key=len)
    joined = []
    for index in range(len(longest)):
        parts = [value[index] for value in values if index < len(value)]
        joined.append(join_cells(parts))
    return tuple(joined)


def _fold(values: list[Value]) -> Value:
    folded = values[0]
    for value in values[1:]:
        folded = join(folded, value)
        if type(folded) is Unknown and not folded.among:
            return folded
    return folded


# How what is left in a cell is joined, by what all of it is.
_JOINED: tuple[tuple[type, Callable[[list[Any]], Any]], ...] = (
    (Value, _fold),
    (tuple, _join_tuples),
    (int, max),
)
