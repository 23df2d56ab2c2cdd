"""Clean: slots are handed out on the host, their numbers travel in a static tensor, and released slots
are cleared in place; a context variable is read only by eager code."""

from contextvars import ContextVar

import torch
import torch.nn as nn

_step: ContextVar[int] = ContextVar("step", default=0)


class Slots:
    def __init__(self, count: int, width: int):
        self.state = torch.zeros(count + 1, width, device="cuda")
        self.free, self.owner = list(range(1, count + 1)), {}

    def of(self, request: str) -> int:
        if request not in self.owner:
            slot = self.owner[request] = self.free.pop()
            self.state[slot].zero_()
        return self.owner[request]

    def release(self, request: str) -> None:
        self.free.append(self.owner.pop(request))


class Runner:
    def __init__(self, cell: nn.GRUCell, slots: Slots, batch: int):
        self.cell, self.slots, self.batch = cell, slots, batch
        self.x = torch.zeros(batch, cell.input_size, device="cuda")
        self.index = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _body(self) -> torch.Tensor:
        h = self.cell(self.x, self.slots.state[self.index])
        self.slots.state.index_copy_(0, self.index, h)
        return h

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._body()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.h = self._body()
        self.slots.state.zero_()

    @torch.inference_mode()
    def step(self, rows: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        _step.set(_step.get() + 1)
        numbers = [self.slots.of(request) for request in rows]
        self.index.zero_()
        self.index[: len(numbers)].copy_(torch.tensor(numbers))
        self.x.zero_()
        self.x[: len(numbers)].copy_(torch.stack(list(rows.values())))
        self.graph.replay()
        if _step.get() % 1000 == 0:
            print("load", len(self.slots.owner), self.h.norm().item())
        return {request: self.h[i].clone() for i, request in enumerate(rows)}
