"""One declared input with a pattern in it, and how to get rid of the pattern."""

from __future__ import annotations

import random
from typing import Any

import torch

from graphlint.sentinel.shadow.writes import restore_version, unwatched, version_of
from graphlint.sentinel.virtual.device import active as virtual

WORDS = {4: torch.int32, 8: torch.int64}  # bytes of an element: what it is compared as


class Armed:
    """Arms the same input again and again, in memory that is taken once.

    Nothing here waits for the device: the counts are on their way to the host when `landed` says so.
    """

    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        self.name = name
        self.armed = False
        rows = tensor.shape[0] if tensor.dim() else 1
        self.width = tensor.numel() // rows
        pattern = random.SystemRandom().getrandbits(8 * tensor.element_size() - 2)
        with unwatched():
            words = tensor.view(WORDS[tensor.element_size()])
            self._pattern = torch.full_like(words, pattern)
            self._before = torch.empty_like(words)
            self._untouched = torch.zeros_like(words, dtype=torch.bool)
            self._counts = torch.zeros(
                rows, dtype=torch.int32, device=words.device if not virtual() else "cpu"
            )
            self._host = self._counts.to("cpu").clone()
            if not virtual():
                self._host = self._host.pin_memory()
        self._event = torch.cuda.Event()

    def arm(self, tensor: torch.Tensor) -> None:
        """Fill it with the pattern."""
        version = version_of(tensor)
        with unwatched():
            words = tensor.view(self._pattern.dtype)
            self._before.copy_(words)
            words.copy_(self._pattern)
        restore_version(tensor, version)
        self.armed = True

    def disarm(self, tensor: torch.Tensor) -> None:
        """Put back what was there wherever the pattern still is, and count it."""
        if not self.armed:
            return
        self.armed = False
        version = version_of(tensor)
        with unwatched():
            words = tensor.view(self._pattern.dtype)
            torch.eq(words, self._pattern, out=self._untouched)
            torch.where(self._untouched, self._before, words, out=words)
            flat = self._untouched.reshape(len(self._counts), -1)
            torch.sum(flat, 1, dtype=torch.int32, out=self._counts)
            self._host.copy_(self._counts, non_blocking=True)
        self._event.record()
        restore_version(tensor, version)

    def landed(self) -> bool:
        """Whether the counts of the last call can be read."""
        return bool(self._event.query())

    def counts(self, rows: int | None) -> list[int]:
        """How many elements of each row, of the first `rows`, nobody wrote."""
        with unwatched():
            found: list[int] = self._host[:rows].tolist()
        return found


def fits(tensor: Any) -> bool:
    """Whether a pattern can be told from values: elements of 32 bits and more, each in its own place."""
    spread = all(size <= 1 or step for size, step in zip(tensor.shape, tensor.stride()))
    return spread and tensor.element_size() in WORDS and not tensor.is_complex()
