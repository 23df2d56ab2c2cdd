"""Clean: three streams with events in both directions, a ring of static buffers, statistics and
formatting only where nothing is captured, adapters copied into slots, and two graphs per bucket."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn as nn

log = logging.getLogger(__name__)


@dataclass
class Slot:
    ids: torch.Tensor
    host: torch.Tensor
    uploaded: torch.cuda.Event
    computed: torch.cuda.Event


class Timers:
    def __init__(self):
        self.seconds: dict[str, float] = {}

    @contextmanager
    def section(self, name: str):
        start = time.perf_counter()
        yield
        if torch.cuda.is_current_stream_capturing():
            return
        torch.cuda.synchronize()
        self.seconds[name] = time.perf_counter() - start


class Adapters(nn.Module):
    def __init__(self, width: int, slots: int, rank: int):
        super().__init__()
        self.register_buffer("a", torch.zeros(slots, rank, width, device="cuda"))
        self.register_buffer("b", torch.zeros(slots, width, rank, device="cuda"))
        self.names: dict[str, int] = {}

    def load(self, name: str, a: torch.Tensor, b: torch.Tensor) -> int:
        slot = self.names.setdefault(name, len(self.names))
        self.a[slot].copy_(a)
        self.b[slot].copy_(b)
        return slot

    def forward(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        low = torch.einsum("bd,brd->br", x, self.a[slots])
        return torch.einsum("br,bdr->bd", low, self.b[slots])


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, adapters: Adapters, timers: Timers):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, device="cuda")
        self.body = nn.Linear(width, width, device="cuda")
        self.head = nn.Linear(width, vocabulary, device="cuda")
        self.adapters, self.timers = adapters, timers

    def forward(self, ids: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        with self.timers.section("body"):
            x = self.embed(ids)
            x = self.body(x) + self.adapters(x, slots)
        return self.head(torch.relu(x))


class Engine:
    def __init__(self, model: Model, batch: int, depth: int = 2):
        self.model, self.batch = model, batch
        self.copy_stream, self.compute = torch.cuda.Stream(), torch.cuda.Stream()
        self.slots = [self._slot() for _ in range(depth)]
        self.adapter_ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graphs: list[tuple[torch.cuda.CUDAGraph, torch.Tensor]] = []
        self.done = 0

    def _slot(self) -> Slot:
        ids = torch.zeros(self.batch, dtype=torch.long, device="cuda")
        host = torch.zeros(self.batch, dtype=torch.long, pin_memory=True)
        return Slot(ids, host, torch.cuda.Event(), torch.cuda.Event())

    @torch.inference_mode()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for slot in self.slots:
            for _ in range(2):
                self.model(slot.ids, self.adapter_ids)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                tokens = self.model(slot.ids, self.adapter_ids).argmax(-1)
            self.graphs.append((graph, tokens))

    @torch.inference_mode()
    def step(self, ids: torch.Tensor) -> list[int]:
        index = self.done % len(self.slots)
        slot, (graph, tokens) = self.slots[index], self.graphs[index]
        slot.computed.synchronize()
        slot.host.copy_(ids)
        with torch.cuda.stream(self.copy_stream):
            slot.ids.copy_(slot.host, non_blocking=True)
            slot.uploaded.record()
        with torch.cuda.stream(self.compute):
            self.compute.wait_event(slot.uploaded)
            graph.replay()
            result = tokens.clone()
            slot.computed.record()
        slot.computed.synchronize()
        self.done += 1
        if self.done % 100 == 0:
            log.info("step %d: %s, sections %s", self.done, result[:4], self.model.timers.seconds)
        return result.tolist()
