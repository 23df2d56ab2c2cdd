"""Canaries in declared inputs: a pattern before the call, and what is left of it at the replay."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.findings import Finding, Stack
from graphlint.sentinel.shadow.judged import Judging
from graphlint.sentinel.shadow.writes import restore_version, unwatched, version_of
from graphlint.sentinel.virtual.device import active as virtual
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.watching import places
from graphlint.sentinel.watching.companions import aside
from graphlint.sentinel.watching.memories import base_of

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer
    from graphlint.sentinel.wrapping import Call

_WORDS = {4: torch.int32, 8: torch.int64}  # bytes of an element: what it is compared as


class Armed:
    """One input that holds the pattern until the graph is about to be replayed."""

    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        self.name, self.tensor = name, tensor
        self.untouched: torch.Tensor | None = None
        version = version_of(tensor)
        pattern = random.SystemRandom().getrandbits(8 * tensor.element_size() - 2)
        with unwatched():
            self._words = tensor.view(_WORDS[tensor.element_size()])
            self._before = self._words.clone()
            self._pattern = torch.full_like(self._words, pattern)
            self._words.copy_(self._pattern)
        restore_version(tensor, version)

    def disarm(self) -> None:
        """Put back what was there wherever the pattern still is."""
        if self.untouched is not None:
            return
        version = version_of(self.tensor)
        with unwatched():
            self.untouched = self._words == self._pattern
            self._words.copy_(torch.where(self.untouched, self._before, self._words))
        restore_version(self.tensor, version)

    def rows(self, real: int | None) -> torch.Tensor:
        """How many elements of each row nobody has written, of the first `real` rows."""
        assert self.untouched is not None
        with unwatched():
            flat = self.untouched.reshape(max(1, self.untouched.shape[0] if self.untouched.dim() else 1), -1)
            return flat[: real if self.untouched.dim() else None].sum(1, dtype=torch.int32)


@dataclass(slots=True)
class _Pending:
    """A count that is on its way to the host, and what to say of it."""

    name: str
    runner: str
    counts: torch.Tensor
    width: int
    event: Any
    graph: int
    captured: Stack
    replayed: Stack


class Canaries(Judging):
    """Declared inputs that are not written before a replay."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(observer)
        self._armed: list[Armed] = []
        self._pending: deque[_Pending] = deque()
        self._without: list[tuple[str, torch.Tensor, int]] = []

    def about_to_call(self, call: Call) -> None:
        self._drain(wait=False)
        self._armed, self._without = [], []
        if self.observer.mode == "watch":
            return
        with aside():
            if virtual() and device().order != "early":
                self.observer.miss("canary: it needs the early order of streams")
                return
            for name, tensor in call.inputs.items():
                self._arm(call, name, tensor)
            if self._armed and not virtual():
                torch.cuda.current_stream().synchronize()  # the runner may write from another stream

    def _arm(self, call: Call, name: str, tensor: Any) -> None:
        if not isinstance(tensor, torch.Tensor) or not tensor.is_cuda or not tensor.numel():
            return
        if self._overlaps(tensor):
            self.observer.miss(f"canary: `{name}` shares memory with another declared input, or with itself")
        elif tensor.element_size() in _WORDS and not tensor.is_complex():
            self._armed.append(Armed(name, tensor))
        else:
            self._without.append((name, tensor, version_of(tensor)))

    def _overlaps(self, tensor: torch.Tensor) -> bool:
        if any(size > 1 and not step for size, step in zip(tensor.shape, tensor.stride())):
            return True
        return any(base_of(one.tensor) == base_of(tensor) for one in self._armed)

    def first_replay(self, call: Call) -> None:
        with aside():
            for armed in self._armed:
                armed.disarm()

    def has_failed(self) -> None:
        armed, self._armed = self._armed, []
        with aside():
            for one in armed:
                one.disarm()

    def has_returned(self, call: Call, result: Any) -> None:
        armed, self._armed = self._armed, []
        with aside():
            for one in armed:
                one.disarm()
            if self.graphs:
                self._pending.extend(self._counted(call, armed))
                self._by_version(call)
        self._drain(wait=virtual())

    def _by_version(self, call: Call) -> None:
        for name, tensor, version in self._without:
            if version >= 0 and version_of(tensor) == version:
                message = f"`{name}`, declared an input of `{call.name}`, is not written before this replay"
                self.report("CG109", message, "canary", call, "likely")

    def _counted(self, call: Call, armed: list[Armed]) -> Iterator[_Pending]:
        graph = self.observer.machine.state.graphs.get(self.graphs[0])
        stack = graph.stack if graph is not None else ()
        for one in armed:
            counts = one.rows(call.real_rows)
            with unwatched():
                host = counts if virtual() else counts.to("cpu", non_blocking=True)
            event = torch.cuda.Event()
            event.record()
            width = one.tensor.numel() // max(1, one.tensor.shape[0] if one.tensor.dim() else 1)
            yield _Pending(one.name, call.name, host, width, event, self.graphs[0], stack, places.here())

    def _drain(self, *, wait: bool) -> None:
        with aside():
            while self._pending and (wait or self._pending[0].event.query()):
                self._judge(self._pending.popleft())

    def _judge(self, pending: _Pending) -> None:
        with unwatched():
            counts = pending.counts.tolist()
        rows = [row for row, count in enumerate(counts) if count]
        if rows:
            self.observer.report(_finding(pending, counts, rows))

    def finish(self) -> None:
        self.has_failed()
        with aside():
            if self._pending and not virtual():
                torch.cuda.synchronize()
        self._drain(wait=True)
        super().finish()


def _finding(pending: _Pending, counts: list[int], rows: list[int]) -> Finding:
    name, declared = f"`{pending.name}`", f"declared an input of `{pending.runner}`"
    if sum(counts) == len(counts) * pending.width:
        what = f"{name}, {declared}, is not written before this replay: the graph reads what was there before"
    else:
        what = f"{_spans(rows)} of {name}, {declared}, keep what was there before"
    return Finding("CG109", what, pending.captured, (), pending.replayed, "canary", pending.graph, 0)


def _spans(rows: list[int]) -> str:
    if rows == list(range(rows[0], rows[-1] + 1)) and len(rows) > 1:
        return f"rows {rows[0]} to {rows[-1]}"
    listed = ", ".join(map(str, rows[:6]))
    return f"row {listed}" if len(rows) == 1 else f"rows {listed}{', ...' if len(rows) > 6 else ''}"
