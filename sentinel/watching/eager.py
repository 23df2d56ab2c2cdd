"""Mode "test" installed: each operation of eager code is looked at, in every thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual.device import active
from graphlint.sentinel.watching import bypasses, virtual
from graphlint.sentinel.watching.compiled import compiled_code_would_notice, modes_reach_compiled_code
from graphlint.sentinel.watching.observer import Observer
from graphlint.sentinel.watching.reads import EagerMode, Reads

_TOO_OLD = "eager operations: with this version of torch, looking at them turns compiled functions off"

_UNCOMPILED = (
    "compiled functions: with this version of torch they run uncompiled while eager operations are looked at"
)


@contextmanager
def look(observer: Observer) -> Iterator[None]:
    """Look at eager code until the block ends."""
    if observer.reads is not None:
        yield
        return
    patches = Patches()
    observer.reads = reads = Reads(observer)
    try:
        bypasses.install(patches, reads)
        if active():
            virtual.follow_downloads(patches, reads)
            virtual.follow_uploads(patches, reads)
        if compiled_code_would_notice():
            observer.miss(_TOO_OLD)
            yield
            return
        if modes_reach_compiled_code():
            patches.set(torch, "compile", _said(torch.compile, observer))
        patches.set(threading.Thread, "run", _in_mode(threading.Thread.run, reads))
        with EagerMode(reads):
            yield
    finally:
        observer.reads = None
        patches.restore()


def _in_mode(run: Any, reads: Reads) -> Any:
    def run_in_mode(self: Any) -> None:
        with EagerMode(reads):
            run(self)

    return run_in_mode


def _said(plain: Any, observer: Observer) -> Any:
    def compile(*args: Any, **kwargs: Any) -> Any:
        observer.miss(_UNCOMPILED)
        return plain(*args, **kwargs)

    return compile
