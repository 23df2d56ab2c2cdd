"""One eager run of a captured body, with everything that it did undone."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from graphlint.sentinel.hoststate.living import living
from graphlint.sentinel.hoststate.memory import Change, Memory
from graphlint.sentinel.hoststate.undoing import Effect, Undo
from graphlint.sentinel.hoststate.walk import Walk
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.shadow.statements import NotRunnable
from graphlint.sentinel.trials.compare import snapshot
from graphlint.sentinel.trials.settings import Modes, RandomNumbers
from graphlint.sentinel.trials.writes import Saved, logged_writes, memory_of


@dataclass(slots=True)
class Made:
    """What an eager run made: outputs by name, memory by storage as (how to reach it, what it wrote)."""

    outputs: dict[str, torch.Tensor] = field(default_factory=dict)
    written: dict[int, tuple[Saved, torch.Tensor]] = field(default_factory=dict)
    drew_on_host: bool = False
    names: dict[int, str] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    bodies: set[CodeType] = field(default_factory=set)


@dataclass(slots=True)
class Plan:
    """How to run the body: a function of the names, and where to look for what it made."""

    call: Callable[[dict[str, Any]], dict[str, Any]]
    modes: Modes
    results: Callable[[dict[str, Any]], dict[str, torch.Tensor]]
    module: dict[str, Any] | None
    ungraded: list[weakref.ref[torch.Tensor]] = field(default_factory=list)


def run(plan: Plan, names: dict[str, Any], back: Callable[[Walk], list[Change]]) -> Made:
    """Run it once; `back` says which host state to set to what it was first.

    Raises NotRunnable when the body raises. Nothing of the run is left: memory, host state, gradients and
    random numbers are what they were.
    """
    walk = Walk(names, plan.module)
    undo, numbers = Undo(walk), RandomNumbers(walk.generators)
    made = Made(names={memory_of(tensor): path for path, tensor in reversed(walk.tensors.items())})
    with ExitStack() as stack:
        log = stack.enter_context(logged_writes())
        stack.enter_context(_as_if_capturing())
        stack.callback(undo.put_back)
        changes = back(walk)
        _set_back(changes)
        _drop_gradients(plan)
        try:
            with plan.modes.again(), _warnings_are_no_errors():
                result = _called(plan, names, made.bodies)
            made.effects = [] if changes else undo.effects()
            made.outputs = {what: snapshot(tensor) for what, tensor in plan.results(result).items()}
        except Exception as error:
            text = str(error).partition("\n")[0]
            raise NotRunnable(f"its body raised {type(error).__name__} when run again: {text}") from error
        finally:
            made.written = {memory: (log.saved[memory], new) for memory, new in log.put_back().items()}
            made.drew_on_host = numbers.set_back()
    return made


def _called(plan: Plan, names: dict[str, Any], bodies: set[CodeType]) -> dict[str, Any]:
    """Call the body, and note which code it runs through."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            bodies.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        return plan.call(names)
    finally:
        sys.setprofile(before)


@contextmanager
def _warnings_are_no_errors() -> Iterator[None]:
    """Filters of the program may make errors of warnings, which torch has for code that runs anew."""
    if not any(one[0] == "error" for one in warnings.filters):
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _as_if_capturing() -> Iterator[None]:
    """Let the body decide as it did, where it asks whether it is being captured."""
    patches = Patches()
    for module, name in (
        (torch._C, "_cuda_isCurrentStreamCapturing"),
        (torch.cuda.graphs, "_cuda_isCurrentStreamCapturing"),
    ):
        patches.set(module, name, lambda: True)
    try:
        yield
    finally:
        patches.restore()


def _set_back(changes: list[Change]) -> None:
    for change in changes:
        try:
            change.take_back()
        except (LookupError, TypeError, AttributeError):
            continue


def _drop_gradients(plan: Plan) -> None:
    for reference in plan.ungraded:
        tensor = living(reference)
        if tensor is not None:
            tensor.grad = None


def nothing(walk: Walk) -> list[Change]:
    """Set nothing back."""
    return []


def changed_since(memory: Memory, only: set[str]) -> Callable[[Walk], list[Change]]:
    """Set these places back to what they held."""
    return lambda walk: [change for change in memory.changes(walk) if change.path in only]
