"""Modules whose weights a graph reads, and that nothing holds any more when it is replayed.

Autograd holds the weights of what was captured with gradients; without them the program alone does. Only
modules that the program makes in sight are judged: one that it is given may be held by whoever gave it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphlint.analysis import gradients, lifetimes
from graphlint.analysis.events import InputFreed
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.values import Obj, Tensor

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

MADE, READ = "modules the program has made", "weights"


def note_made(m: Machine, module: Obj) -> None:
    """The program constructs a module of torch, and no given object does."""
    if not m.earlier:
        m.memo.setdefault(MADE, set()).add(module.serial)


def note_read(m: Machine, module: Obj, weights: Iterable[Tensor]) -> None:
    """A module that captured code calls reads its weights."""
    capture = m.capture
    if capture is None or gradients.enabled(m) or module.serial not in m.memo.get(MADE, ()):
        return
    if lifetimes.records_addresses(capture):
        read = capture.facts.setdefault(READ, {})
        read.update({weight.storage: module for weight in weights})


def replayed(m: Machine, record: Capture, place: Place) -> None:
    """Look once, at the first replay, for what nothing leads to."""
    read = record.facts.pop(READ, {})
    if not read:
        return
    alive = lifetimes.Reach(m)
    alive.walk([*lifetimes.roots_of(m), *m.memo.get(lifetimes.GIVEN_AWAY, ())])
    lost = [
        storage
        for storage, module in read.items()
        if storage not in alive.storages | m.escaped and module.serial not in alive.objects
    ]
    if lost and not alive.spent:
        modules = record.facts.get("modules", {}).values()
        owner = next(each for each in modules if each.serial not in alive.objects)
        used = record.storages.get(lost[0], record.place)
        m.emit(InputFreed(place=owner.site or used, storage=lost[0], recorded=record, used=used))
