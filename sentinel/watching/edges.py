"""Edges between streams, and waits of the host: what `torch.cuda`'s events, streams and synchronisations
say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from graphlint.sentinel.core import events
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.watching.observer import Observer
from graphlint.sentinel.watching.streams import current_stream, number_of


def install(patches: Patches, observer: Observer) -> None:
    """Replace the methods in place, so that names imported earlier are seen as well."""
    event, stream = torch.cuda.Event, torch.cuda.Stream
    patches.set(event, "record", _record(event.record, observer))
    patches.set(event, "wait", _wait(event.wait, observer))
    patches.set(event, "synchronize", _after(event.synchronize, observer, _of_event))
    patches.set(event, "query", _if_done(event.query, observer, _of_event))
    patches.set(stream, "synchronize", _after(stream.synchronize, observer, _of_stream))
    patches.set(stream, "query", _if_done(stream.query, observer, _of_stream))
    patches.set(torch._C, "_cuda_synchronize", _after(torch._C._cuda_synchronize, observer, _of_all))


def _of_event(event: Any) -> events.Synchronised:
    return events.Synchronised(event=id(event))


def _of_stream(stream: Any) -> events.Synchronised:
    return events.Synchronised(stream=number_of(stream))


def _of_all(*_: Any) -> events.Synchronised:
    return events.Synchronised()


def _record(plain: Any, observer: Observer) -> Any:
    def record(self: Any, stream: Any = None) -> None:
        plain(self, stream)
        if observer.following:
            on = current_stream() if stream is None else number_of(stream)
            observer.tell(events.EventRecorded(id(self), on))

    return record


def _wait(plain: Any, observer: Observer) -> Any:
    def wait(self: Any, stream: Any = None) -> None:
        plain(self, stream)
        if observer.following:
            on = current_stream() if stream is None else number_of(stream)
            observer.tell(events.EventAwaited(id(self), on))

    return wait


def _after(plain: Any, observer: Observer, event: Callable[..., events.Synchronised]) -> Any:
    def synchronize(*args: Any) -> Any:
        result = plain(*args)
        if observer.following:
            observer.tell(event(*args))
        return result

    return synchronize


def _if_done(plain: Any, observer: Observer, event: Callable[..., events.Synchronised]) -> Any:
    def query(*args: Any) -> Any:
        done = plain(*args)
        if done and observer.following:
            observer.tell(event(*args))
        return done

    return query
