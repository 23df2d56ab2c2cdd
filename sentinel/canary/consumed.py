"""Declared inputs that no graph reads: the program writes a tensor, and the graph reads another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.core.machine import Graph
from graphlint.sentinel.trials.judged import Judging

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer
    from graphlint.sentinel.wrapping import Call


class Consumed(Judging):
    """Compares where declared inputs lie with what the graphs of a call read."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(observer)
        self._told: set[tuple[str, str, int]] = set()
        self._read: set[tuple[int, int, int]] = set()  # a graph, and what it was found to read of a tensor

    def has_returned(self, call: Call, result: Any) -> None:
        graphs = self.observer.machine.state.graphs
        replayed = [graphs[number] for number in set(self.graphs) if number in graphs]
        if not any(graph.inputs for graph in replayed):
            return  # nothing is known of what they read
        for name, tensor in call.inputs.items():
            if isinstance(tensor, torch.Tensor) and tensor.is_cuda and not self._is_read(tensor, replayed):
                self._tell(call, name, tensor)

    def _is_read(self, tensor: torch.Tensor, graphs: list[Graph]) -> bool:
        start = tensor.data_ptr()
        end = start + max(1, tensor.numel()) * tensor.element_size()
        for graph in graphs:
            key = (graph.number, start, end)
            if key in self._read or _reads(graph, start, end):
                self._read.add(key)
                return True
        return False

    def _tell(self, call: Call, name: str, tensor: torch.Tensor) -> None:
        key = (call.name, name, tensor.data_ptr())
        if key in self._told:
            return
        self._told.add(key)
        message = f"`{name}`, declared an input of `{call.name}`, lies where no graph of this call reads"
        self.report("CG101", message, "consumed", call, "likely")


def _reads(graph: Graph, start: int, end: int) -> bool:
    return any(
        given.address < end and start < given.address + max(1, given.size) for given in graph.inputs.values()
    )
