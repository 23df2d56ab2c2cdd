"""f-strings: names of modules, layers and modes are put together in them."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from graphlint.analysis import arithmetic, expressions, tensor_ops
from graphlint.analysis.frames import Frame
from graphlint.analysis.parts import cells_of
from graphlint.analysis.values import MAX_ALTERNATIVES, Const, Unknown, Value, alternatives, join_all
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def joined(m: Machine, node: ast.JoinedStr, frame: Frame) -> Value:
    """The value of an f-string; where a part is one of several, so is the text."""
    parts = [_text_part(m, part, frame) for part in node.values]
    if math.prod(len(alternatives(part)) for part in parts) > MAX_ALTERNATIVES:
        return arithmetic.derived("text", *parts, kind="str")
    texts = [_text_of(each) for each in itertools.product(*map(alternatives, parts))]
    known = [text for text in texts if text is not None]
    return join_all(known) if len(known) == len(texts) else arithmetic.derived("text", *parts, kind="str")


def _text_part(m: Machine, part: ast.expr, frame: Frame) -> Value:
    """A part of an f-string: its text where that is known."""
    if type(part) is not ast.FormattedValue:
        return Const(part.value) if type(part) is ast.Constant else Unknown("part of a text")
    value = expressions.evaluate(m, part.value, frame)
    tensor_ops.formatted(m, part.value, value, frame, "f-string")
    if part.format_spec is not None or part.conversion != -1:
        return arithmetic.derived("formatted", value, kind="str")
    return value


def _text_of(parts: tuple[Value, ...]) -> Value | None:
    texts = [_plain_text(part) for part in parts]
    known = [text for text in texts if text is not None]
    if len(known) < len(texts) or sum(map(len, known)) > arithmetic.LONGEST_TEXT:
        return None
    return Const("".join(known), frozenset().union(*map(cells_of, parts)))


def _plain_text(value: Value) -> str | None:
    """How a known text or integer looks in an f-string that says nothing about its format."""
    if type(value) is not Const:
        return None
    if isinstance(value.value, str):
        return value.value
    return str(value.value) if type(value.value) is int else None
