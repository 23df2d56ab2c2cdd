"""Why a replay and an eager run disagree: the host state that, set back to what it was, makes them agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from graphlint.sentinel.hoststate.memory import Change, Token

_KINDS = ("value", "tensor", "object")  # the likeliest first
_ALONE = 12  # candidates that are tried one by one

Agree = Callable[[set[str]], bool]


@dataclass(frozen=True, slots=True)
class Cause:
    """A place of the host state, what it was and is; `own`: the captured code changed it itself."""

    path: str
    before: str
    now: str
    code: str
    own: bool

    def sentence(self) -> str:
        """The cause as part of a message."""
        if self.code in ("CG101", "CG102", "CG106"):
            return f"`{self.path}` is another tensor now than when it was captured"
        who = ", by the captured code itself" if self.own else ""
        return f"`{self.path}` was {self.before} at the capture and is {self.now} now{who}"


def find(changes: list[Change], own: set[str], agree: Agree) -> list[Cause]:
    """The causes among what has changed; `agree` tells whether both agree when some places are set back.

    Empty when even everything set back does not help, or nothing has changed.
    """
    candidates = {change.path: change for change in changes if _can_go_back(change)}
    if not candidates or not agree(set(candidates)):
        return []
    likely = sorted(candidates, key=lambda path: (_KINDS.index(candidates[path].before.kind), len(path)))
    for path in likely[:_ALONE]:
        if len(candidates) == 1 or agree({path}):
            return [_cause(candidates[path], path in own)]
    return [_cause(change, change.path in own) for change in list(candidates.values())[:3]]


def _can_go_back(change: Change) -> bool:
    try:
        change.before.recalled()
    except LookupError:
        return False
    return True


def _cause(change: Change, own: bool) -> Cause:
    return Cause(change.path, _shown(change.before), _shown(change.now), _code(change, own), own)


def _shown(token: Token) -> str:
    if token.kind == "value":
        text = repr(token.value)
        return text if len(text) <= 40 else f"{text[:37]}..."
    return "another object" if token.kind == "object" else "a tensor"


def _code(change: Change, own: bool) -> str:
    if change.before.kind != "tensor" or change.now.kind != "tensor" or change.before.value is not None:
        return "CG402"
    tensor = change.now.recalled()
    if isinstance(tensor, torch.nn.Parameter):
        return "CG102"
    return "CG106" if own else "CG101"
