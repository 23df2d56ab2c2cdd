"""Clean: lazy tables depend on configuration only; hooks file copies outside of captures; requests are records
that get tensors of their own; a thread reads what a queue gives it.
"""

import queue
import threading
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Job:
    ids: torch.Tensor
    logits: torch.Tensor | None = None


class PositionTable:
    def __init__(self, width: int):
        self.width = width
        self.table: torch.Tensor | None = None

    def get(self, length: int) -> torch.Tensor:
        if self.table is None or self.table.shape[0] < length:
            angles = torch.arange(length, device="cuda")[:, None] * torch.ones(self.width, device="cuda")
            self.table = angles.cos()
        return self.table[:length]


class Reader(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
        self.positions = PositionTable(width)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head((self.embed(ids) + self.positions.get(ids.shape[1])).mean(1))


class ReaderService:
    def __init__(self, vocab: int, width: int, batch: int, length: int):
        self.reader = Reader(vocab, width).cuda().eval()
        self.seen: list[torch.Tensor] = []
        self.reader.head.register_forward_hook(self._look)
        self.ids = torch.zeros(batch, length, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.inbox: queue.Queue = queue.Queue()

    def _look(self, module, args, output) -> None:
        if not torch.cuda.is_current_stream_capturing():
            self.seen.append(output.detach().cpu())

    @torch.inference_mode()
    def start(self) -> None:
        for _ in range(2):
            self.reader(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits = self.reader(self.ids)
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        while True:
            self.answer(self.inbox.get())

    def answer(self, jobs: list[Job]) -> None:
        for job in jobs:
            n = job.ids.shape[0]
            self.ids.zero_()
            self.ids[:n, : job.ids.shape[1]].copy_(job.ids)
            self.graph.replay()
            job.logits = self.logits[:n].clone()
