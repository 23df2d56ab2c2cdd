"""Mode "test": every operation of eager code that touches memory of a graph, and every new tensor on such
memory."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from graphlint.sentinel.core import events
from graphlint.sentinel.watching.companions import aside
from graphlint.sentinel.watching.kept import KeptNames, line_reads
from graphlint.sentinel.watching.memories import Memory, base_of
from graphlint.sentinel.watching.names import Named
from graphlint.sentinel.watching.observer import Observer
from graphlint.sentinel.watching.operators import Operator, operator
from graphlint.sentinel.watching.reading import Captured
from graphlint.sentinel.watching.streams import current_stream


class EagerMode(TorchDispatchMode):
    """Shows each operation of this thread to the reads."""

    supports_higher_order_operators = True

    def __init__(self, reads: Reads) -> None:
        super().__init__()
        self._reads = reads

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunction():  # the program's call has been through its function modes
            return self._run(function, args, kwargs or {})

    def _run(self, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        reads = self._reads
        if reads.observer.capturing:
            recorded = operator(function)
            if recorded is not None:
                reads.recorded(recorded, args)
            return function(*args, **kwargs)
        known = operator(function) if reads.bases and reads.observer.following else None
        if known is None:
            return function(*args, **kwargs)
        touched = reads.touched(args, kwargs)
        if touched:
            reads.before(known, touched, args, kwargs)
        result = function(*args, **kwargs)
        if touched:
            reads.after(known, touched, result)
        if known.waits:
            reads.observer.tell(events.Synchronised(stream=current_stream()))
        return result


Touched = list[tuple[Any, torch.Tensor, Memory, int]]  # place of the argument, tensor, its memory, how often


class Reads:
    """Which memory matters, which tensors were seen on it, and what happens to it."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.bases: dict[int, Memory] = {}
        self.hosts: dict[int, Memory] = {}  # memory of the host that a copy or a graph reads or writes
        self._aliases: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._next = itertools.count(1)
        self._kept = KeptNames()
        self._copied: set[int] = set()  # pinned memory that the capture which is open has copied
        self._written_early: list[int] = []  # places where the host wrote it afterwards
        self._displaced: dict[int, tuple[weakref.ref[torch.Tensor], int, str]] = {}
        observer.listeners.append(self.captured)

    def captured(self, captured: Captured, graph: int) -> None:
        """There is a new graph."""
        for site in self._written_early:
            self.observer.tell(events.WrittenInCapture(graph, site))
        self._copied.clear()
        self._written_early.clear()
        for memory in captured.memories:
            if memory.number in captured.hosts:
                self.hosts[memory.base] = memory
            self.bases[memory.base] = memory
        for _, tensors in captured.made:
            self._kept.add(tensors)

    def replaying(self, graph: int, replays: int, kept: list[Named]) -> None:
        """A graph is about to be replayed: what its outputs are called now."""
        self._kept.replaying(replays + 1)
        self._displaced = {key: held for key, held in self._displaced.items() if held[1] != graph}
        for named in kept:
            for text, tensor in named.displaced():
                self._displaced[id(tensor)] = (weakref.ref(tensor), graph, text)

    # While capturing.

    def recorded(self, known: Operator, args: Any) -> None:
        """An operation of captured code."""
        if known.kind in ("copy_", "_to_copy") and len(args) > (known.kind == "copy_"):
            self.copied(args[known.kind == "copy_"])
        if self._copied and 0 in known.written and isinstance(args[0], torch.Tensor):
            if base_of(args[0]) in self._copied and not args[0].is_cuda:
                self._written_early.append(self.observer.sites.here())

    def copied(self, source: torch.Tensor) -> None:
        """Captured code copies a tensor to the device."""
        if not source.is_cuda and _is_pinned(source):
            self._copied.add(base_of(source))

    # Operations.

    def touched(self, args: Any, kwargs: Any) -> Touched:
        """The tensors among the arguments that lie on memory that matters."""
        found: Touched = []
        for key, value in itertools.chain(enumerate(args), kwargs.items()) if kwargs else enumerate(args):
            if isinstance(value, torch.Tensor):
                self._add(found, key, value, 1)
            elif isinstance(value, (list, tuple)):
                for tensor in value:
                    if isinstance(tensor, torch.Tensor):
                        self._add(found, key, tensor, sum(other is tensor for other in value))
        return found

    def _add(self, found: Touched, key: Any, tensor: torch.Tensor, times: int) -> None:
        memory = self.bases.get(base_of(tensor))
        if self._displaced and id(tensor) in self._displaced:
            self._read_instead(tensor)
        if memory is not None and memory.alive:
            found.append((key, tensor, memory, times))

    def before(self, known: Operator, touched: Touched, args: Any, kwargs: Any) -> None:
        """An operation is about to run."""
        if known.view:
            return
        for key, tensor, memory, times in touched:
            host = memory.base in self.hosts
            if key not in known.only_written:
                alone = not known.compares or len(args) < 2 or args[0] is not args[1]
                self.read(tensor, memory, host, times if alone else 2)
            if key in known.written:
                self._write(memory, host, _misfit(known, args) if key in (0, "self") else "")
        if known.kind == "copy_":
            self._copy(touched, args, kwargs)

    def after(self, known: Operator, touched: Touched, result: Any) -> None:
        """It has run: its results may be new names of the memory."""
        if known.view:
            _, parent, memory, _ = touched[0]
            for made in result if isinstance(result, (list, tuple)) else (result,):
                if isinstance(made, torch.Tensor) and made is not parent:
                    self.take(made, parent, memory)
        elif known.kind == "_to_copy" and isinstance(result, torch.Tensor) and not result.is_cuda:
            self.landed(touched[0][1], result, wait=not _is_pinned(result))

    def read(self, tensor: torch.Tensor, memory: Memory, host: bool = False, times: int = 1) -> None:
        """Something reads a tensor."""
        site = self.observer.sites.here()
        if host:
            self.observer.tell(events.HostRead(memory.number, site))
        else:
            alias = self._alias(tensor)
            old = None if alias else self._kept.read_through(tensor)
            if old is not None:
                self.observer.tell(events.ReadAsOld(memory.number, *old, site))
            self.observer.tell(events.Read(memory.number, alias, current_stream(), site, times))

    def _read_instead(self, tensor: torch.Tensor) -> None:
        known, graph, text = self._displaced[id(tensor)]
        if known() is tensor and line_reads(text.rpartition(".")[2]):
            self.observer.tell(events.ReadInstead(graph, text))

    def _write(self, memory: Memory, host: bool, misfit: str) -> None:
        site = self.observer.sites.here()
        if host:
            self.observer.tell(events.HostWritten(memory.number, site))
        else:
            self.observer.tell(events.Written(memory.number, current_stream(), site, misfit))

    # Copies between device and host.

    def _copy(self, touched: Touched, args: Any, kwargs: Any) -> None:
        target, source = args[0], args[1]
        waits = not (args[2] if len(args) > 2 else kwargs.get("non_blocking", False))
        if target.is_cuda and not source.is_cuda:
            if waits or not _is_pinned(source):
                self.observer.tell(events.Synchronised(stream=current_stream()))
            else:
                self._left(source, touched[0][2])
        elif source.is_cuda and not target.is_cuda:
            self.landed(source, target, wait=waits or not _is_pinned(target))

    def _left(self, source: torch.Tensor, target: Memory) -> None:
        host = self.observer.memories.of(source)
        if host is not None:
            self.bases[host.base] = self.hosts[host.base] = host
            stream, site = current_stream(), self.observer.sites.here()
            self.observer.tell(events.SentFromHost(host.number, target.number, stream, site))

    def landed(self, source: torch.Tensor, target: torch.Tensor, wait: bool) -> None:
        """A copy to the host is issued."""
        if wait:
            self.observer.tell(events.Synchronised(stream=current_stream()))
            return
        memory, host = self.bases.get(base_of(source)), self.observer.memories.of(target)
        if memory is not None and host is not None:
            self.bases[host.base] = self.hosts[host.base] = host
            stream, site = current_stream(), self.observer.sites.here()
            self.observer.tell(events.SentToHost(host.number, memory.number, stream, site))

    # Tensors on the memory of graphs.

    def take(self, made: torch.Tensor, parent: torch.Tensor, memory: Memory) -> None:
        """A new tensor lies on memory of a graph."""
        number, key, aliases = next(self._next), id(made), self._aliases
        aliases[key] = (weakref.ref(made, lambda _: aliases.pop(key, None)), number)
        site = self.observer.sites.here()
        self.observer.tell(events.Taken(number, memory.number, self._alias(parent) or None, site))

    def _alias(self, tensor: torch.Tensor) -> int:
        known = self._aliases.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else 0


def _misfit(known: Operator, args: Any) -> str:
    """What `copy_` does to make its source fit, if the program may not know."""
    if known.kind != "copy_" or len(args) < 2 or not isinstance(args[1], torch.Tensor):
        return ""
    target, source = args[0], args[1]
    if source.dim() == target.dim() and source.shape != target.shape:
        return f"repeats what it is given, of shape {tuple(source.shape)}, to {tuple(target.shape)}"
    if source.is_floating_point() and not (target.is_floating_point() or target.is_complex()):
        return f"drops the fractions of what it is given, {source.dtype} into {target.dtype}"
    return ""


def _is_pinned(tensor: torch.Tensor) -> bool:
    with aside():
        return bool(tensor.is_pinned())
