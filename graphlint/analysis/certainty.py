"""How sure a finding may be, by the tests on the way to it that nobody could decide."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis import answers
from graphlint.analysis.parts import change_of
from graphlint.analysis.values import (
    Change,
    Const,
    Host,
    Unknown,
    Value,
    alternatives,
)
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.finding import Confidence, Level

if TYPE_CHECKING:
    from graphlint.analysis.frames import Condition
    from graphlint.analysis.machine import Machine


@dataclass(frozen=True, slots=True)
class Certainty:
    """The most that may be claimed at a place: conditions on the way there lower level and confidence."""

    level: Level = Level.ERROR
    confidence: Confidence = Confidence.DEFINITE


# Tests that choose a mode of the program: what is captured is one mode, most often not this one.
MODE = re.compile(
    r"debug|verbose|log|trace|profil|dump|check|valid|sanity|assert|prefill|extend|is_train|training|"
    r"forward_mode|encoder|is_dummy|statistic|metric|record|eager|fallback|\bcpu\b|is_hip|is_npu|is_xpu",
    re.IGNORECASE,
)


FAILURE = Unknown("exception")  # what leads to a handler, but for that of a capture or of a question


@summary
def _reads_training(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "training"


@summary
def _chooses_mode(node: ast.AST) -> bool:
    """Whether a test is of a mode of the program, by its text; a place that is no expression counts."""
    text = ast.unparse(node) if isinstance(node, ast.expr) else ""
    return text == "" or MODE.search(text) is not None


def _is_configuration(value: Value) -> bool:
    """Whether a test is of host values that were set once: which of them is captured does not matter."""
    return all(isinstance(part, (Host, Const)) for part in alternatives(value))


_CONFIDENCES = tuple(Confidence)


def _weaker(one: Confidence, other: Confidence) -> Confidence:
    return max(one, other, key=_CONFIDENCES.index)


def _doubt(m: Machine, condition: Condition) -> Certainty:
    """What one undecided test leaves of certainty.

    Modules are made in training mode, and a program that runs a backward pass has left them there. A handler
    runs when something has failed, which a warm-up would have shown.
    """
    if condition.polarity and m.trains and _reads_training(condition.place.node):
        return Certainty(Level.ERROR, Confidence.LIKELY)
    if condition.value is FAILURE:
        return Certainty(Level.ERROR, Confidence.POSSIBLE)
    if _chooses_mode(condition.place.node) or (m.cuts and _finds_nothing(condition)):
        return Certainty(Level.ERROR, Confidence.POSSIBLE)
    if change_of(condition.value) is not Change.CONFIG:
        return Certainty(Level.WARNING, Confidence.LIKELY)
    if not _is_configuration(condition.value):
        return Certainty(Level.ERROR, Confidence.LIKELY)
    return Certainty()


def _finds_nothing(condition: Condition) -> bool:
    """Whether something unknown is found to have nothing: a call that was cut short may have put it there."""
    node, value = condition.place.node, condition.value
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return False
    if isinstance(node.ops[0], ast.Is) is not condition.polarity or not isinstance(value, Host):
        return False
    match value.symbol:
        case ("is", int(), tuple(parts)):
            return all(isinstance(part[1], tuple) and part[1][0] == "unknown" for part in parts)
    return False


def now(m: Machine) -> Certainty:
    """How sure a finding may be: undecided tests since the capture began lower it."""
    capture = m.capture
    first = capture.depth if capture is not None else max(0, len(m.frames) - 1)
    level, confidence = Level.ERROR, Confidence.LIKELY if m.cuts else Confidence.DEFINITE
    for index, frame in enumerate(m.frames[first:]):
        start = capture.facts.get("conditions", 0) if capture is not None and index == 0 else 0
        for condition in frame.conditions[start:]:
            if condition.decided:
                continue
            if condition.doubt is None:
                condition.doubt = _doubt(m, condition)
            if condition.doubt.level is Level.WARNING:
                level = Level.WARNING
            if condition.doubt.confidence is not confidence:
                confidence = _weaker(confidence, condition.doubt.confidence)
        if index and any(_turns_on(condition) for condition in frame.passed):
            confidence = Confidence.POSSIBLE
    return Certainty(level, confidence)


def _turns_on(condition: Condition) -> bool:
    """Whether a call goes on only where a mode of the program is on: `if not self.checks: return x`.

    Training is none of those: modules are made in it.
    """
    node, answer = condition.place.node, condition.polarity
    if isinstance(node, ast.expr):
        node, answer = answers.plain(node, answer)
    is_flag = isinstance(node, (ast.Name, ast.Attribute)) and not _reads_training(node)
    return answer and is_flag and _chooses_mode(node)
