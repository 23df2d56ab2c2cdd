"""Outputs that are given to somebody who reads them later: put into a queue, set as a future's result.

A consumer on another thread, or another task, has no part in when the graph is replayed again. Only a wait in
between, for a thread, a queue or a result, may be a wait for the consumer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis.events import StaleRead
from graphlint.analysis.frames import Place
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import Obj, Sequence_, Tensor, Value
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@dataclass(frozen=True, slots=True)
class Handed:
    """An output on its way to a consumer; `queue` holds it until it is taken out, where one does."""

    tensor: Tensor
    item: Value
    place: Place
    queue: Sequence_ | None


def give(m: Machine, value: Value, place: Place, queue: Sequence_ | None = None) -> None:
    """Eager code gives a value away; outputs of graphs in it may be read at any time from now on."""
    if not m.captures:
        found = (tensor for tensor in tensors_in(value, 2) if tensor.stamp)
        m.handed += [Handed(tensor, value, place, queue) for tensor in found]


def waited(m: Machine) -> None:
    """The program has waited for somebody else: consumers may be done."""
    m.handed.clear()


def called(m: Machine, method: str, args: Sequence[Value], place: Place) -> None:
    """A method of something unknown is called: a few names say what it does with consumers."""
    if method == "set_result" and args:
        give(m, args[0], place)
    elif method in operations.listed("consumer_waits"):
        waited(m)


def replayed(m: Machine, graph: Obj, place: Place) -> None:
    """A graph is replayed: what it has put out before is overwritten under its consumers."""
    mine = [each for each in m.handed if each.tensor.storage.graph is graph]
    m.handed = [each for each in m.handed if each not in mine]
    for each in mine:
        if each.queue is None or any(item is each.item for item in each.queue.items):
            taken = each.tensor.taken or each.place
            event = StaleRead(place=place, tensor=each.tensor, graph=graph, taken=taken, kept=each.place)
            m.emit(event)
