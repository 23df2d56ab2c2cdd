"""Guards that do something once: `if self.fresh: self.prepare(); self.fresh = False`.

After such a test the field is known, whichever way it went: one arm has set it, and in the other one it had
the value that the test found. Only then is what comes later no longer in doubt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis import answers, conditions, equality, narrowing
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import Const, Fields, Host, Obj, Union, Value, alternatives, is_none, join_all
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@dataclass(slots=True)
class Guard:
    """A test of one field: what the field held, and what it holds at the end of each arm that has one."""

    fields: Fields
    name: str
    before: Value
    for_none: bool
    negated: bool
    after: list[tuple[bool, Value]] = field(default_factory=list)

    def arm_ended(self, polarity: bool, frame: Frame) -> None:
        """Take down the field at the end of an arm."""
        held = self.fields.get(self.name)
        if frame.reachable and isinstance(held, Value):
            self.after.append((polarity is not self.negated, held))

    def settle(self, m: Machine) -> None:
        """Where an arm has written the field, the other one leaves what its test says."""
        if any(held is not self.before for _, held in self.after):
            known = [self._found(yes) if held is self.before else held for yes, held in self.after]
            m.heap.write(self.fields, self.name, join_all(known))

    def _found(self, yes: bool) -> Value:
        """What the field held where the test came out as it did."""
        parts = [part for part in alternatives(self.before) if self._may_be(part, yes)]
        return join_all(self._known(part, yes) for part in parts) if parts else self.before

    def _may_be(self, part: Value, yes: bool) -> bool:
        answer = is_none(part) if self.for_none and isinstance(part, Const) else None
        if not self.for_none:
            answer = conditions.truth(part)
        elif not isinstance(part, Const):
            answer = equality.identical(part, Const(None))
        return answer is not (not yes)

    def _known(self, part: Value, yes: bool) -> Value:
        is_flag = isinstance(part, Host) and part.kind == "bool" and not self.for_none
        return Const(yes) if is_flag else part


def of_test(m: Machine, test: ast.expr, frame: Frame) -> Guard | None:
    """The guard that a test is; None for tests of anything but one field of an object."""
    path, for_none, negated = _tested(test)
    if path is None:
        return None
    owner = narrowing.quiet(m, path.value, frame)
    if not isinstance(owner, Obj):
        return None
    held = owner.fields.get(path.attr)
    if isinstance(held, Union) or (isinstance(held, Host) and held.kind == "bool"):
        return Guard(owner.fields, path.attr, held, for_none, negated)
    return None


@per_node
def _tested(test: ast.expr) -> tuple[ast.Attribute | None, bool, bool]:
    """The field that a test looks at, whether it asks for None, and whether it asks for the opposite."""
    test, answer = answers.plain(test, True)
    if answers.asks_for_none(test) and isinstance(test.left, ast.Attribute):
        return test.left, True, not answers.finds_none(test, answer)
    return (test if isinstance(test, ast.Attribute) else None), False, not answer
