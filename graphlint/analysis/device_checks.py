"""Checks that a tensor is on the CPU: `if x.device.type != "cpu": raise`. What goes on has one there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphlint.analysis import answers, narrowing
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import Tensor, alternatives
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def note_raised(m: Machine, test: ast.expr, answer: bool, arm: Sequence[ast.stmt], frame: Frame) -> None:
    """An arm of a test has raised: tensors whose device was not known are where the other answer says."""
    if not arm or not isinstance(arm[-1], ast.Raise):
        return
    for part_of_test, its_answer in answers.parts(test, not answer):
        node = _on_the_host(part_of_test, its_answer)
        value = narrowing.quiet(m, node, frame) if node is not None else None
        for part in alternatives(value) if value is not None else ():
            if isinstance(part, Tensor) and part.storage.device is None:
                part.storage.device = "cpu"


def _on_the_host(test: ast.expr, answer: bool) -> ast.expr | None:
    """What a test with this answer says to be on the CPU."""
    if isinstance(test, ast.Attribute) and test.attr == "is_cuda" and not answer:
        return test.value
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq if answer else ast.NotEq):
        other, asked = test.comparators[0], test.left
        if isinstance(asked, ast.Attribute) and asked.attr == "type":
            asked = asked.value
        is_cpu = isinstance(other, ast.Constant) and other.value == "cpu"
        if is_cpu and isinstance(asked, ast.Attribute) and asked.attr == "device":
            return asked.value
    return None
