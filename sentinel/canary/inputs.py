"""Canaries in declared inputs: a pattern before the call, and what is left of it at the replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.canary.armed import Patterns, fits
from graphlint.sentinel.findings import Finding
from graphlint.sentinel.trials.judged import Judging
from graphlint.sentinel.trials.writes import version_of
from graphlint.sentinel.virtual.device import active as virtual
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.watching.companions import aside
from graphlint.sentinel.watching.memories import base_of

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer
    from graphlint.sentinel.wrapping import Call


@dataclass(slots=True)
class _Pending:
    """Counts that are on their way to the host, and what they belong to."""

    patterns: Patterns
    runner: str
    real: int | None
    graph: int
    replay: int
    site: int


@dataclass(slots=True)
class _Declared:
    """The inputs of a runner at its last call: which a pattern fits, and of which writes are counted."""

    signature: list[tuple[Any, ...]]
    fitting: list[str]
    counted: list[str]
    patterns: Patterns | None

    def versions(self, call: Call) -> list[tuple[str, int]]:
        return [(name, version_of(call.inputs[name])) for name in self.counted]


def _signature(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, torch.Tensor):
        return (id(value),)
    return (id(value), value.data_ptr(), value.shape, value.stride(), value.dtype)


class Canaries(Judging):
    """Declared inputs that are not written before a replay."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(observer)
        self._known: dict[tuple[Any, ...], Patterns] = {}
        self._last: dict[str, _Declared] = {}  # of each runner
        self._now: Patterns | None = None
        self._pending: list[_Pending] = []
        self._counted: list[tuple[str, torch.Tensor, int]] = []  # those that a pattern does not fit

    def about_to_call(self, call: Call) -> None:
        self._now, self._counted = None, []
        if self.observer.mode == "watch" or not call.inputs or torch.cuda.is_current_stream_capturing():
            return
        if virtual() and device().order != "early":
            self.observer.miss("canary: it needs the early order of streams")
            return
        with aside():
            self._read(wait=virtual())
            declared = self._declared(call)
            self._counted = [(name, call.inputs[name], version) for name, version in declared.versions(call)]
            self._arm([call.inputs[name] for name in declared.fitting], declared.patterns)

    def _declared(self, call: Call) -> _Declared:
        """What is known of the inputs of a call: nearly always they are those of the last."""
        signature = [_signature(tensor) for tensor in call.inputs.values()]
        last = self._last.get(call.name)
        if last is None or last.signature != signature:
            fitting, counted = self._fitting(call)
            last = self._last[call.name] = _Declared(
                signature, [name for name, _ in fitting], counted, self._patterns(call, fitting)
            )
        return last

    def _fitting(self, call: Call) -> tuple[list[tuple[str, torch.Tensor]], list[str]]:
        """The inputs that a pattern fits, and the names of those whose writes are counted."""
        counted: list[str] = []
        found: dict[int, tuple[str, torch.Tensor]] = {}
        for name, tensor in call.inputs.items():
            if not isinstance(tensor, torch.Tensor) or not tensor.is_cuda or not tensor.numel():
                continue
            if base_of(tensor) in found:
                self.observer.miss(f"canary: `{name}` shares memory with another declared input")
            elif fits(tensor):
                found[base_of(tensor)] = (name, tensor)
            else:
                counted.append(name)
        return list(found.values()), counted

    def _patterns(self, call: Call, inputs: list[tuple[str, torch.Tensor]]) -> Patterns | None:
        key = (call.name, *((name, one.shape, one.stride(), one.dtype) for name, one in inputs))
        if inputs and key not in self._known:
            self._known[key] = Patterns(inputs)
        return self._known.get(key)

    def _arm(self, tensors: list[torch.Tensor], patterns: Patterns | None) -> None:
        if patterns is None or any(pending.patterns is patterns for pending in self._pending):
            return  # the last counts have not landed: this call is not looked at
        patterns.arm(tensors)
        self._now = patterns
        if not virtual():  # the runner may write from another stream
            torch._C._CudaStreamBase.synchronize(torch.cuda.current_stream())

    def first_replay(self, call: Call) -> None:
        if self._now is not None:
            with aside():
                self._now.disarm()

    def has_failed(self) -> None:
        now, self._now = self._now, None
        if now is not None:
            with aside():
                now.disarm()

    def has_returned(self, call: Call, result: Any) -> None:
        patterns = self._now
        self.has_failed()
        if not self.graphs:
            return
        graph = self.observer.machine.state.graphs.get(self.graphs[0])
        replay, site = graph.replays if graph is not None else 0, self.observer.sites.here()
        if patterns is not None:
            pending = _Pending(patterns, call.name, call.real_rows, self.graphs[0], replay, site)
            self._pending.append(pending)
        self._by_count(call)
        if virtual():
            self._read(wait=True)

    def _by_count(self, call: Call) -> None:
        for name, tensor, version in self._counted:
            if version >= 0 and version_of(tensor) == version:
                message = f"`{name}`, declared an input of `{call.name}`, is not written before this replay"
                self.report("CG109", message, "canary", call, "likely")

    def _read(self, *, wait: bool) -> None:
        with aside():
            landed = [one for one in self._pending if wait or one.patterns.landed()]
        for pending in landed:
            self._pending.remove(pending)
            for at, counts in enumerate(pending.patterns.counts()):
                self._judge(pending, at, counts[: pending.real])

    def _judge(self, pending: _Pending, at: int, counts: list[int]) -> None:
        rows = [row for row, count in enumerate(counts) if count]
        if rows:
            whole = sum(counts) == len(counts) * pending.patterns.widths[at]
            self.observer.report(self._finding(pending, at, [] if whole else rows))

    def _finding(self, pending: _Pending, at: int, rows: list[int]) -> Finding:
        what = f"`{pending.patterns.names[at]}`, declared an input of `{pending.runner}`,"
        if rows:
            message = f"{_spans(rows)} of {what} keep what was there before"
        else:
            message = f"{what} is not written before this replay: the graph reads what was there before"
        graph = self.observer.machine.state.graphs.get(pending.graph)
        captured = graph.stack if graph is not None else ()
        replayed = self.observer.sites.stack(pending.site)
        return Finding("CG109", message, captured, (), replayed, "canary", pending.graph, pending.replay)

    def settle(self) -> None:
        with aside():
            if self._pending and not virtual():
                torch.cuda.synchronize()
        self._read(wait=True)

    def finish(self) -> None:
        super().finish()
        self._known.clear()
        self._last.clear()
        self.has_failed()
        self.settle()


def _spans(rows: list[int]) -> str:
    if len(rows) == 1:
        return f"row {rows[0]}"
    if rows == list(range(rows[0], rows[-1] + 1)):
        return f"rows {rows[0]} to {rows[-1]}"
    return f"rows {', '.join(map(str, rows[:6]))}{', ...' if len(rows) > 6 else ''}"
