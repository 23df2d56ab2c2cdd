"""Calls inside an open capture: which fail, which work goes elsewhere, and whether the program noticed."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode

from graphlint.sentinel.core import events
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual.device import active as virtual
from graphlint.sentinel.watching import places, refused
from graphlint.sentinel.watching.capture_mode import CaptureMode
from graphlint.sentinel.watching.companions import Companion, aside, is_aside
from graphlint.sentinel.watching.compiled import compiled_code_would_notice
from graphlint.sentinel.watching.operators import operator
from graphlint.sentinel.watching.reads import EagerMode

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer

_MARK = "_graphlint_call"
_OF_LIBRARIES = ("CUBLAS_STATUS", "CUDNN_STATUS", "CUSOLVER_STATUS", "FIND was unable")


class _Open:
    """A capture that is open."""

    def __init__(self, number: int, graph: Any, by_statement: bool) -> None:
        self.number, self.by_statement = number, by_statement
        self.key = id(graph)
        self.thread = threading.get_ident()
        self.stream = torch.cuda.current_stream().cuda_stream
        self.stack = places.here()
        self.graph = 0
        self.lost = False
        self.mode: CaptureMode | None = None
        self.eager: EagerMode | None = None  # which steps aside meanwhile


class Calls(Companion):
    """Tells the machine of calls that fail while a capture is open."""

    def __init__(self, patches: Patches, observer: Observer) -> None:
        self._observer = observer
        self._open: list[_Open] = []
        self._statements: set[int] = set()
        self._captures, self._serials = itertools.count(1), itertools.count(1)
        self._patches = patches
        refused.install(patches, self)

    # What companions are told.

    def entering(self, graph: Any, caller: FrameType) -> None:
        self._statements.add(id(graph))

    def begun(self, graph: Any) -> None:
        self._open.append(_Open(next(self._captures), graph, id(graph) in self._statements))

    def entered(self, graph: Any) -> None:
        found = self._of(graph)
        if found is None or is_aside() or not self._may_look():
            return
        refused.follow_triton(self._patches, self)
        top = _get_current_dispatch_mode()
        if isinstance(top, EagerMode):  # every operation would pass through two modes
            found.eager = top
            top.__exit__(None, None, None)
        found.mode = CaptureMode(self)
        found.mode.__enter__()

    def leaving(self, graph: Any) -> None:
        found = self._of(graph)
        if found is not None and found.mode is not None:
            found.mode.__exit__(None, None, None)
            self._observer.written[id(graph)] = found.mode.writes
            found.mode = None
            if found.eager is not None:
                found.eager.__enter__()

    def ended(self, graph: Any, number: int) -> None:
        found = self._of(graph)
        if found is not None:
            found.graph = number
            if not found.by_statement:
                self._close(found, None)

    def lost(self, graph: Any) -> None:
        found = self._of(graph)
        if found is not None:
            found.lost = True
            if not found.by_statement:
                self._close(found, None)

    def left(self, graph: Any, error: BaseException | None, caller: FrameType) -> None:
        self._statements.discard(id(graph))
        found = self._of(graph)
        if found is not None:
            self._untold(found, error)
            self._close(found, error)

    # What the patched calls and the mode tell.

    def failed(self, error: BaseException, operation: str, what: str, lost: bool | None = None) -> None:
        """A call raised an error; told twice of the same error, only the first is kept."""
        found = self._mine() or self._anyones()
        if found is None or is_aside() or hasattr(error, _MARK) or not _of_capture(error):
            return
        call = next(self._serials)
        setattr(error, _MARK, call)
        lost = refused.lost(found.stream) if lost is None else lost
        other = found.thread != threading.get_ident()
        text = str(error).partition("\n")[0]
        formatting = refused.is_formatting()
        stack = places.here()
        self._observer.tell(
            events.CallFailed(found.number, call, operation, what, text, lost, stack, formatting, other)
        )

    def _untold(self, found: _Open, error: BaseException | None) -> None:
        """An error that left the body, of a call that no mode sees: its traceback knows the line."""
        if error is None or is_aside() or not _of_capture(error) or any(_marks(error)):
            return
        call = next(self._serials)
        setattr(error, _MARK, call)
        stack, formatting = refused.traced(error)
        what = refused.source_of(stack)
        text = str(error).partition("\n")[0]
        self._observer.tell(
            events.CallFailed(found.number, call, "", what, text, found.lost, stack, formatting)
        )

    def capturing(self) -> AbstractContextManager[None]:
        """What this thread does meanwhile is captured code."""
        return self._observer.in_capture()

    def recorded(self, function: Any, args: Any) -> None:
        """An operation of captured code, for those who look at eager code as well."""
        reads = self._observer.reads
        known = operator(function) if reads is not None else None
        if reads is not None and known is not None:
            reads.recorded(known, args)

    def launched(self) -> None:
        """A kernel was launched that is no operation of torch."""
        found = self._mine()
        if found is not None and found.mode is not None:
            found.mode.writes.complete = False

    def escaped(self, what: str) -> None:
        """Work went to a stream that is not captured."""
        found = self._mine()
        if found is not None and not is_aside():
            self._observer.tell(events.WorkEscaped(found.number, what, places.here()))

    def _close(self, found: _Open, error: BaseException | None) -> None:
        self._open.remove(found)
        stuck = not found.graph and self._observer.mode == "test" and _generator_is_stuck()
        left = tuple(_marks(error))
        self._observer.tell(events.CaptureClosed(found.number, found.graph, found.stack, left, stuck))

    def _of(self, graph: Any) -> _Open | None:
        return next((one for one in self._open if one.key == id(graph)), None)

    def _mine(self) -> _Open | None:
        me = threading.get_ident()
        return next((one for one in reversed(self._open) if one.thread == me), None)

    def _anyones(self) -> _Open | None:
        return self._open[-1] if self._open else None

    def _may_look(self) -> bool:
        if virtual():
            return True
        if self._observer.mode == "watch":
            return False
        if compiled_code_would_notice():
            self._observer.miss("calls in captures: looking at them would change what torch.compile does")
            return False
        return True


def _of_capture(error: BaseException) -> bool:
    """Whether an error is about a capture; others happen in eager execution just as well."""
    text = str(error)
    return any(word in text for word in ("captur", *_OF_LIBRARIES))


def _marks(error: BaseException | None) -> Iterator[int]:
    seen = 0
    while error is not None and seen < 20:
        if hasattr(error, _MARK):
            yield getattr(error, _MARK)
        error, seen = error.__cause__ or error.__context__, seen + 1


def _generator_is_stuck() -> bool:
    with aside():
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        state = generator.get_state()
        try:
            with torch.cuda.stream(torch.cuda.default_stream()):
                torch.rand(1, device="cuda")
        except RuntimeError:
            return True
        generator.set_state(state)
        return False
