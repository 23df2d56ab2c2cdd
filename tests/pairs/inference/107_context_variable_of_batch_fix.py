"""Fixed form: the new numbers are copied into the description of the capture."""

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class BatchInfo:
    slots: torch.Tensor
    lengths: torch.Tensor


_BATCH: ContextVar[BatchInfo] = ContextVar("batch")


@contextmanager
def batch_scope(info: BatchInfo):
    token = _BATCH.set(info)
    try:
        yield
    finally:
        _BATCH.reset(token)


class SlotAttention(nn.Module):
    def __init__(self, slots: int, width: int):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.register_buffer("memory", torch.zeros(slots, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        info = _BATCH.get()
        held = self.memory[info.slots]
        return self.lin(x) + held / info.lengths[:, None].clamp(min=1)


class Executor:
    def __init__(self, slots: int, width: int, batch: int):
        self.net = nn.Sequential(SlotAttention(slots, width), nn.GELU(), SlotAttention(slots, width)).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        zeros = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.info = BatchInfo(zeros, zeros.clone())
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        with batch_scope(self.info):
            for _ in range(2):
                self.net(self.x)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.net(self.x)

    def execute(self, x: torch.Tensor, slots: list[int], lengths: list[int]) -> torch.Tensor:
        self.info.slots.copy_(torch.tensor(slots))
        self.info.lengths.copy_(torch.tensor(lengths))
        with batch_scope(self.info):
            self.x.copy_(x)
            self.graph.replay()
        return self.y.clone()
