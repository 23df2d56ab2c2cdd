"""Declared inputs that no graph reads: the program writes a tensor, and the graph reads another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.core.events import Input
from graphlint.sentinel.trials.judged import Judging

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer
    from graphlint.sentinel.wrapping import Call


class Consumed(Judging):
    """Compares where declared inputs lie with what the graphs of a call read."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(observer)
        self._told: set[tuple[str, str, int]] = set()

    def has_returned(self, call: Call, result: Any) -> None:
        graphs = self.observer.machine.state.graphs
        replayed = [graphs[number] for number in self.graphs if number in graphs]
        read = [given for graph in replayed for given in graph.inputs.values()]
        if not read:
            return  # nothing is known of what they read
        for name, tensor in call.inputs.items():
            if isinstance(tensor, torch.Tensor) and tensor.is_cuda and not _is_read(tensor, read):
                self._tell(call, name, tensor)

    def _tell(self, call: Call, name: str, tensor: torch.Tensor) -> None:
        key = (call.name, name, tensor.data_ptr())
        if key in self._told:
            return
        self._told.add(key)
        message = f"`{name}`, declared an input of `{call.name}`, lies where no graph of this call reads"
        self.report("CG101", message, "consumed", call, "likely")


def _is_read(tensor: torch.Tensor, read: list[Input]) -> bool:
    start = tensor.data_ptr()
    end = start + max(1, tensor.numel()) * tensor.element_size()
    return any(given.address < end and start < given.address + max(1, given.size) for given in read)
