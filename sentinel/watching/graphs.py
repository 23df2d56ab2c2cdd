"""`torch.cuda.CUDAGraph` watched: the class's own attributes are replaced in place, so that names imported
earlier, subclasses, `torch.cuda.graph`, graphed callables and compiled functions with graphs are all seen."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual.device import active as virtual
from graphlint.sentinel.watching import collector
from graphlint.sentinel.watching.observer import Observer


def install(patches: Patches, observer: Observer) -> None:
    """Replace what begins, ends, replays and drops a graph."""
    graph = torch.cuda.CUDAGraph
    for wrap in (_begin, _end, _replay, _reset):
        name = wrap.__name__[1:]
        name = {"begin": "capture_begin", "end": "capture_end"}.get(name, name)
        patches.set(graph, name, wrap(getattr(graph, name), observer))


def _torchs_own() -> AbstractContextManager[Any]:
    """What torch does here on its own is no work of the program: it fills the seeds of generators."""
    return nullcontext() if virtual() else torch._C._DisableTorchDispatch()


def _begin(plain: Any, observer: Observer) -> Any:
    def capture_begin(self: Any, *args: Any, **kwargs: Any) -> None:
        collector.hold(self)
        try:
            with _torchs_own():
                plain(self, *args, **kwargs)
        except BaseException:
            collector.let_go(self)
            raise
        observer.begun(self)

    return capture_begin


def _end(plain: Any, observer: Observer) -> Any:
    def capture_end(self: Any) -> None:
        accesses = observer.ending(self)
        try:
            plain(self)
        except BaseException:
            observer.lost(self)
            raise
        finally:
            collector.let_go(self)
        observer.ended(self, accesses)

    return capture_end


def _replay(plain: Any, observer: Observer) -> Any:
    def replay(self: Any) -> None:
        observer.replaying(self)
        with _torchs_own():
            plain(self)
        observer.replayed(self)

    return replay


def _reset(plain: Any, observer: Observer) -> Any:
    def reset(self: Any) -> None:
        plain(self)
        observer.dropped(self)

    return reset
