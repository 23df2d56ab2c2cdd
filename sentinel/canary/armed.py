"""Declared inputs with a pattern in them, and how to get rid of the pattern."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch

from graphlint.sentinel.trials.writes import restore_version, unwatched, version_of
from graphlint.sentinel.virtual.device import active as virtual

_WORDS = {4: torch.int32, 8: torch.int64}  # bytes of an element: what it is compared as


class Work:
    """Kernels that are launched again and again: from the second time on as a graph of the sentinel's own."""

    def __init__(self, issue: Callable[[list[torch.Tensor]], None]) -> None:
        self._issue = issue
        self._issued = False
        self._graph: Any = None

    def __call__(self, tensors: list[torch.Tensor]) -> None:
        """Do it to tensors, which lie where they lay the last time. Torch does not count it as writes."""
        if self._graph is None:
            versions = [version_of(tensor) for tensor in tensors]
            with unwatched():
                self._first(tensors)
            for tensor, version in zip(tensors, versions):
                restore_version(tensor, version)
        if self._graph is not None:
            self._graph.replay()

    def _first(self, tensors: list[torch.Tensor]) -> None:
        if self._issued and not virtual():
            self._graph = self._recorded(tensors)
        else:
            self._issue(tensors)
            self._issued = True

    def _recorded(self, tensors: list[torch.Tensor]) -> Any:
        """A graph of torch's own class below that of the program, which nobody watches."""
        graph, stream = torch._C._CUDAGraph(), torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            graph.capture_begin(torch.cuda.graph_pool_handle(), "thread_local")
            try:
                self._issue(tensors)
            finally:
                graph.capture_end()
        return graph


class Patterns:
    """Arms inputs of the same names and shapes again and again, in memory that is taken once.

    Nothing here waits for the device: the counts are on their way to the host until `landed`.
    """

    def __init__(self, inputs: Sequence[tuple[str, torch.Tensor]]) -> None:
        self.names = [name for name, _ in inputs]
        self._armed: list[torch.Tensor] = []
        self._addresses: list[int] = []
        self._rows = [tensor.shape[0] if tensor.dim() else 1 for _, tensor in inputs]
        self.widths = [tensor.numel() // count for (_, tensor), count in zip(inputs, self._rows)]
        with unwatched():
            words = [_words(tensor) for _, tensor in inputs]
            self._patterns = [torch.full_like(one, _drawn(one)) for one in words]
            self._before = [torch.empty_like(one) for one in words]
            self._untouched = [torch.zeros_like(one, dtype=torch.bool) for one in words]
            where = "cpu" if virtual() else words[0].device
            self._all = torch.zeros(sum(self._rows) + 1, dtype=torch.int32, device=where)
            self._counts = self._all[:-1].split(self._rows)
            self._host = torch.zeros_like(self._all, device="cpu", pin_memory=not virtual())
        self._there = (ctypes.c_int32 * len(self._all)).from_address(self._host.data_ptr())

    def arm(self, tensors: list[torch.Tensor]) -> None:
        """Fill them with the pattern."""
        self._armed = tensors
        addresses = [tensor.data_ptr() for tensor in tensors]
        if addresses != self._addresses:
            self._addresses = addresses
            self._fill, self._check = Work(self._issue_fill), Work(self._issue_check)
        self._fill(tensors)

    def _issue_fill(self, tensors: list[torch.Tensor]) -> None:
        words = [_words(tensor) for tensor in tensors]
        torch._foreach_copy_(self._before, words)
        torch._foreach_copy_(words, self._patterns)

    def disarm(self) -> None:
        """Put back what was there wherever the pattern still is, and count it."""
        if self._armed:
            self._there[-1] = -1
            self._check(self._armed)
            self._armed = []

    def _issue_check(self, tensors: list[torch.Tensor]) -> None:
        for at, tensor in enumerate(tensors):
            words, untouched, rows = _words(tensor), self._untouched[at], self._counts[at]
            torch.eq(words, self._patterns[at], out=untouched)
            torch.where(untouched, self._before[at], words, out=words)
            torch.sum(untouched.reshape(len(rows), -1), 1, dtype=torch.int32, out=rows)
        self._host[:-1].copy_(self._all[:-1], non_blocking=True)
        self._host[-1:].copy_(self._all[-1:], non_blocking=True)  # says that the counts are there

    def landed(self) -> bool:
        """Whether the counts of the last call can be read."""
        return self._there[-1] == 0

    def counts(self) -> list[list[int]]:
        """How many elements of each row of each input nobody wrote."""
        there, found = list(self._there), []
        for rows in self._rows:
            found.append(there[:rows])
            there = there[rows:]
        return found


def _words(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(_WORDS[tensor.element_size()])


def _drawn(words: torch.Tensor) -> int:
    return random.SystemRandom().getrandbits(8 * words.element_size() - 2)


def fits(tensor: Any) -> bool:
    """Whether a pattern can be told from values: elements of 32 bits and more, each in its own place."""
    spread = all(size <= 1 or step for size, step in zip(tensor.shape, tensor.stride()))
    return spread and tensor.element_size() in _WORDS and not tensor.is_complex()
