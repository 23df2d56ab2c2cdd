"""`torch.cuda.graph` watched: companions are told when a `with` statement opens and closes a capture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.patches import Patches

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer


def install(patches: Patches, observer: Observer) -> None:
    """Replace how it is entered and left, in place."""
    kind = torch.cuda.graph
    patches.set(kind, "__enter__", _enter(kind.__enter__, observer))
    patches.set(kind, "__exit__", _exit(kind.__exit__, observer))


def _enter(plain: Any, observer: Observer) -> Any:
    def __enter__(self: Any) -> Any:
        for companion in observer.companions:
            companion.entering(self.cuda_graph, sys._getframe(1))
        result = plain(self)
        for companion in observer.companions:
            companion.entered(self.cuda_graph)
        return result

    return __enter__


def _exit(plain: Any, observer: Observer) -> Any:
    def __exit__(self: Any, *raised: Any) -> Any:
        error = raised[1] if len(raised) > 1 else None
        for companion in reversed(observer.companions):
            companion.leaving(self.cuda_graph)
        try:
            return plain(self, *raised)
        finally:
            for companion in reversed(observer.companions):
                companion.left(self.cuda_graph, error, sys._getframe(1))

    return __exit__
