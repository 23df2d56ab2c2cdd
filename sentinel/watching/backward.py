"""When a backward pass begins and ends."""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.core import events
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.watching.observer import Observer
from graphlint.sentinel.watching.streams import current_stream


def install(patches: Patches, observer: Observer) -> None:
    """Both names under which torch calls its engine."""
    for module in (torch.autograd, torch.autograd.graph):
        patches.set(module, "_engine_run_backward", _run(module._engine_run_backward, observer))


def _run(plain: Any, observer: Observer) -> Any:
    def run_backward(*args: Any, **kwargs: Any) -> Any:
        if not observer.following:
            return plain(*args, **kwargs)
        observer.tell(events.BackwardBegan(current_stream()))
        try:
            return plain(*args, **kwargs)
        finally:
            observer.tell(events.BackwardEnded(current_stream()))

    return run_backward
