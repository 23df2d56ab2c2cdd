"""Triton's arithmetic on the host, for sizes of grids and blocks."""

from __future__ import annotations

from graphlint.analysis import arithmetic
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import cells_of
from graphlint.analysis.values import NONE, Const, Value


@model("triton.cdiv")
def _ceiling_of_quotient(call: Call) -> Value:
    size, block = (
        value.value if isinstance(value, Const) else None for value in [*call.args, NONE, NONE][:2]
    )
    if isinstance(size, int) and isinstance(block, int) and block != 0:
        return Const(-(-size // block), frozenset().union(*map(cells_of, call.args)))
    return arithmetic.derived(call.name, *call.args, kind="int")


@model("triton.next_power_of_2")
def _next_power_of_two(call: Call) -> Value:
    number = call.args[0] if len(call.args) == 1 else None
    if isinstance(number, Const) and isinstance(number.value, int) and 0 < number.value < 2**62:
        return Const(1 << (number.value - 1).bit_length(), number.cells)
    return arithmetic.derived(call.name, *call.args, kind="int")
