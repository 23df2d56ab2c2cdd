"""Lists and tables that captured code goes through: the graph has what was in them at the capture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis import certainty, effects, renewals
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture, HostUse, Read, Write, value_in
from graphlint.analysis.values import (
    NO_CELLS,
    Const,
    Fields,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Value,
    alternatives,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def note(m: Machine, owner: Sequence_) -> None:
    """Captured code goes through a list: it matters when it was there before."""
    capture, place = m.capture, m.frame.here
    if capture is None or capture.compiled or owner.kind != "list" or owner.serial > capture.serial:
        return
    if owner.items and not _only_checks(m.frame.statement):
        count, sure = Const(len(owner.items)), certainty.now(m)
        use = HostUse(count, NO_CELLS, "elements", place, m.chain(place), sure)
        capture.walked.setdefault((id(owner.fields), effects.ITEMS), (owner, use))


def _only_checks(statement: ast.AST | None) -> bool:
    """Whether a statement, while its test is evaluated, lets the program go on or raises, and no more."""
    if isinstance(statement, ast.If):
        return not statement.orelse and isinstance(statement.body[-1], ast.Raise)
    return isinstance(statement, ast.Assert)


def note_named(m: Machine, fields: Fields, key: object, table: Mapping, place: Place, owner: Obj) -> None:
    """Captured code reads a field with a table of host values; another may take its place."""
    capture = m.capture
    if capture is not None and all(_is_of_host(part) for entry in table.entries() for part in entry):
        read = Read(fields, key, table, place, m.chain(place), owner, str(key))
        capture.facts.setdefault("tables", {}).setdefault(table.serial, read)


def note_table(m: Machine, table: Mapping) -> None:
    """Captured code goes through a table."""
    capture, place = m.capture, m.frame.here
    named = capture.facts.get("tables", {}).get(table.serial) if capture is not None else None
    if capture is not None and named is not None:
        count, cells = Const(len(table.fields)), frozenset({(id(named.fields), named.key)})
        use = HostUse(count, cells, "elements", place, m.chain(place), certainty.now(m))
        capture.facts.setdefault("walked", {}).setdefault(table.serial, (named, use))


def _is_of_host(part: Value) -> bool:
    return isinstance(part, (Const, Host))


def replaced(m: Machine, record: Capture) -> Iterator[tuple[HostUse, Write]]:
    """The tables that later steps have replaced by others since, and where."""
    for read, use in record.facts.get("walked", {}).values():
        writes = renewals.writes_since(m, record, (id(read.fields), read.key))
        later = [write for write in writes if write.step > record.step]
        now = value_in(read.fields, read.key)
        if later and now is not None and not any(part is read.value for part in alternatives(now)):
            yield use, later[-1]


def added_to(m: Machine, record: Capture) -> Iterator[tuple[HostUse, Write]]:
    """The lists that eager code has added to since, and where."""
    for cell, (owner, use) in record.walked.items():
        writes = renewals.writes_since(m, record, cell)
        if writes and isinstance(use.value, Const) and len(owner.items) > use.value.value:
            yield use, writes[-1]
