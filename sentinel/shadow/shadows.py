"""The shadow at work: every graph captured under a `with` statement, some of its replays, findings."""

from __future__ import annotations

import sys
import weakref
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.findings import Confidence, Finding
from graphlint.sentinel.shadow.eager import Eager, Verdict
from graphlint.sentinel.shadow.effects import Effects
from graphlint.sentinel.shadow.entry import foreign_context, statement_frame
from graphlint.sentinel.shadow.statements import NotRunnable
from graphlint.sentinel.shadow.subject import Site, Subject
from graphlint.sentinel.virtual.device import active, device
from graphlint.sentinel.watching import places
from graphlint.sentinel.watching.companions import Companion, aside, is_aside

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer

_ALL_UP_TO = 16  # replays of a graph; of the later ones the 32nd, 64th, 128th, ... are compared
_OTHERS = ("CG101", "CG102", "CG106")  # what other checks see better


class _Shadow:
    """What is known of one graph."""

    __slots__ = ("context", "eager", "found", "replays", "stack", "subject")

    def __init__(self, subject: Subject, context: str) -> None:
        self.subject = subject
        self.context = context  # what may be missing when the body runs again
        self.replays = 0
        self.eager: Eager | None = None
        self.found: dict[tuple[str, str], Finding] = {}
        self.stack = places.here()


class Shadows(Companion):
    """Runs captured bodies beside their replays, in mode "test"."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._sites: dict[Any, Site] = {}
        self._effects = Effects(observer.report)
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()  # by a `with` statement, just now
        self._shadows: weakref.WeakKeyDictionary[Any, _Shadow] = weakref.WeakKeyDictionary()
        self._any = False
        self._running = 0  # eager runs whose replay has not been issued

    def entering(self, graph: Any, caller: FrameType) -> None:
        self._shadows.pop(graph, None)
        if self._observer.mode != "test" or is_aside():
            return
        self._opened.add(graph)
        try:
            frame = statement_frame(caller)
            site = self._sites.setdefault((frame.f_code, frame.f_lineno), Site())
            with aside():
                self._any = True
                self._shadows[graph] = _Shadow(Subject(frame, site), foreign_context(frame))
        except NotRunnable as reason:
            self._cannot(reason)

    def begun(self, graph: Any) -> None:
        if graph in self._opened:
            self._opened.discard(graph)
        elif self._observer.mode == "test" and not is_aside():
            self._shadows.pop(graph, None)
            self._cannot(NotRunnable("it stands between `capture_begin` and `capture_end`, in no block"))

    def left(self, graph: Any, error: BaseException | None, caller: FrameType) -> None:
        seen = self._observer.written.pop(id(graph), None)  # of graphs without a shadow, too
        shadow = self._shadows.get(graph)
        if shadow is not None and error is None:
            with aside():
                shadow.subject.ended(statement_frame(caller), seen.outside if seen is not None else {})

    def lost(self, graph: Any) -> None:
        self._shadows.pop(graph, None)

    def replaying(self, graph: Any, number: int) -> None:
        shadow = self._shadows.get(graph) if self._any else None
        if shadow is None or self._observer.mode != "test" or is_aside():
            return
        shadow.replays += 1
        if not _compared(shadow.replays) or torch.cuda.is_current_stream_capturing():
            return
        if active() and device().order != "early":
            self._observer.miss("shadow: it compares in the early order of streams only")
            return
        try:
            with aside():
                shadow.eager = shadow.subject.before_replay(sys._getframe(1), shadow.replays)
            self._running += 1
        except NotRunnable as reason:
            self._cannot(reason)

    def replayed(self, graph: Any, number: int) -> None:
        shadow = self._shadows.get(graph) if self._running else None
        if shadow is None or shadow.eager is None:
            return
        eager, shadow.eager = shadow.eager, None
        self._running -= 1
        try:
            with aside():
                verdict = eager.judge()
        except NotRunnable as reason:
            self._cannot(reason)
            return
        if verdict is not None:
            self._report(shadow, number, verdict)
        made = eager.made
        if made.effects:
            self._effects.replayed(made.effects, made.bodies, shadow.stack, number, shadow.replays)

    def finish(self) -> None:
        self._effects.finish()

    def _report(self, shadow: _Shadow, number: int, verdict: Verdict) -> None:
        code = _code(verdict)
        if number in self._observer.accused and (code in _OTHERS or not verdict.causes) and not shadow.found:
            return
        if shadow.context and not verdict.causes:
            self._observer.miss(f"shadow: a difference may come from what {shadow.context} provided")
            return
        key = (code, verdict.causes[0].path if verdict.causes else "")
        found = shadow.found.get(key)
        if found is None:
            found = shadow.found[key] = _finding(code, shadow, number, verdict)
        self._observer.report(replace(found, times=1))

    def _cannot(self, reason: NotRunnable) -> None:
        self._observer.miss(f"shadow: the captured code is not run again: {reason}")


def _compared(replay: int) -> bool:
    return replay <= _ALL_UP_TO or replay & (replay - 1) == 0


def _code(verdict: Verdict) -> str:
    if verdict.causes:
        return verdict.causes[0].code
    return "CG404" if verdict.drew_on_host else "CG402"


def _finding(code: str, shadow: _Shadow, number: int, verdict: Verdict) -> Finding:
    first = verdict.differences[0]
    more = f" (and {len(verdict.differences) - 1} more)" if len(verdict.differences) > 1 else ""
    wrong = f"{first.what}{more} is not what the captured code computes now"
    message = f"{wrong}: {first.sentence()}; {_why(verdict)}"
    confidence: Confidence = (
        "definite" if verdict.causes else "likely" if verdict.drew_on_host else "possible"
    )
    return Finding(
        code,
        message,
        shadow.stack,
        (),
        places.here(),
        "shadow",
        number,
        verdict.replay,
        "error",
        confidence,
    )


def _why(verdict: Verdict) -> str:
    if verdict.causes:
        return ", and ".join(cause.sentence() for cause in verdict.causes)
    if verdict.drew_on_host:
        return "it draws random numbers on the host, and the graph keeps those of the capture"
    return "no change of the host state that was found explains it"
