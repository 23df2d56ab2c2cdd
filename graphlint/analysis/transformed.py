"""Flags that tell how an object was transformed: `fuse()` rewrites the weights and sets `self.fused`.

Programs turn flags around their captures, so that a flag alone says nothing. One that the constructor gave,
and that a method turns for good together with tensors, changes what the captured code is to compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import generators, renewals
from graphlint.analysis.classes import ClassInfo, Def
from graphlint.analysis.graphs import Capture, HostUse, Read, Write
from graphlint.analysis.values import Const, Obj
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def write_of(m: Machine, record: Capture, use: HostUse) -> Write | None:
    """The write that turned the flag of a use after the capture, where that rewrites tensors as well."""
    for cell in use.cells & record.host_reads.keys():
        read, turned = record.host_reads[cell], renewals.writes_since(m, record, cell)
        earlier = (write for write in m.writes.get(cell, ()) if write not in turned)
        if turned and _is_turned(read, turned) and all(write.by_constructor for write in earlier):
            return turned[-1]
    return None


def _is_turned(read: Read, writes: list[Write]) -> bool:
    """Whether one statement has turned a flag of an object, and rewrites tensors with it."""
    then, values = read.value, [write.value for write in writes]
    if not isinstance(read.owner, Obj) or not isinstance(read.owner.cls, ClassInfo):
        return False
    turned = isinstance(then, Const) and all(
        isinstance(value, Const) and value.value is (not then.value) for value in values
    )
    same_place = len({write.place.key for write in writes}) == 1
    return turned and same_place and _rewrites_tensors(read.owner.cls, writes[-1])


def _rewrites_tensors(info: ClassInfo, write: Write) -> bool:
    name = write.place.function.rpartition(".")[2]
    found = info.find(name)
    return found is not None and name != "__init__" and _writes_in_place(found[1])


@summary
def _writes_in_place(node: Def) -> bool:
    """Whether the text of a method calls an operation in place on a part of its object."""
    calls = (part.func for part in generators.own_nodes(node) if isinstance(part, ast.Call))
    return any(
        isinstance(function, ast.Attribute)
        and function.attr.endswith("_")
        and not function.attr.startswith("_")
        and _is_part(function.value, node)
        for function in calls
    )


def _is_part(node: ast.expr, method: Def) -> bool:
    """Whether an expression is `self.a.b` of a method."""
    first = method.args.args[0].arg if method.args.args else ""
    while isinstance(node, ast.Attribute):
        node = node.value
        if isinstance(node, ast.Name):
            return node.id == first
    return False
