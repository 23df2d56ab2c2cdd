"""Drawn from paged engines (the shape of mini-sglang and nano-vllm) whose block table can get wider.

Symptom: when a sequence outgrows the table, the manager pads it to more columns. The decode graph reads
the narrow one, and rows that were written after the change are never seen by it.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field

import torch
import torch.nn as nn


class Phase(enum.Enum):
    PREFILL = enum.auto()
    DECODE = enum.auto()


@dataclass(frozen=True)
class Settings:
    width: int = 128
    vocabulary: int = 1000
    page: int = 16
    pages: int = 2048
    max_batch: int = 32
    columns: int = 8
    buckets: tuple[int, ...] = (32, 16, 8, 4, 2, 1)


@dataclass
class Sequence:
    tokens: list[int]
    pages: list[int] = field(default_factory=list)
    row: int = -1

    @property
    def length(self) -> int:
        return len(self.tokens)


class BlockManager:
    def __init__(self, settings: Settings):
        self.settings = settings
        self.free = deque(range(settings.pages))
        rows, columns = settings.max_batch, settings.columns
        columns = 4096 // settings.page
        self.table = torch.zeros(rows, columns, dtype=torch.long, device="cuda")
        self.lengths = torch.ones(rows, dtype=torch.long, device="cuda")

    def reserve(self, sequence: Sequence) -> None:
        needed = -(-sequence.length // self.settings.page)
        if needed > self.table.shape[1]:
            raise ValueError("the sequence is too long for the block table")
        while len(sequence.pages) < needed:
            sequence.pages.append(self.free.popleft())

    def publish(self, batch: list[Sequence]) -> None:
        for row, sequence in enumerate(batch):
            sequence.row = row
            pages = torch.tensor(sequence.pages)
            self.table[row, : len(sequence.pages)].copy_(pages)
            self.lengths[row : row + 1].fill_(sequence.length)

    def release(self, sequence: Sequence) -> None:
        self.free.extend(sequence.pages)
        sequence.pages.clear()


class PagedModel(nn.Module):
    def __init__(self, settings: Settings, blocks: BlockManager):
        super().__init__()
        self.embed = nn.Embedding(settings.vocabulary, settings.width)
        self.q = nn.Linear(settings.width, settings.width)
        self.head = nn.Linear(settings.width, settings.vocabulary)
        self.cache = torch.zeros(settings.pages, settings.width, device="cuda")
        self.blocks = blocks

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        n = ids.shape[0]
        x = self.q(self.embed(ids))
        keys = self.cache[self.blocks.table[:n]]
        live = torch.arange(keys.shape[1], device=ids.device) < self.blocks.lengths[:n, None]
        scores = torch.einsum("bd,bkd->bk", x, keys).masked_fill(~live, float("-inf"))
        return self.head(x + torch.einsum("bk,bkd->bd", scores.softmax(-1), keys))


class Runner(ABC):
    def __init__(self, model: PagedModel, settings: Settings):
        self.model, self.settings = model, settings

    @abstractmethod
    def run(self, ids: torch.Tensor) -> torch.Tensor: ...


class EagerRunner(Runner):
    @torch.inference_mode()
    def run(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(ids)


class GraphRunner(Runner):
    def __init__(self, model: PagedModel, settings: Settings):
        super().__init__(model, settings)
        self.ids = torch.zeros(settings.max_batch, dtype=torch.long, device="cuda")
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.logits: dict[int, torch.Tensor] = {}
        self.capture()

    @torch.inference_mode()
    def capture(self) -> None:
        pool = None
        for size in self.settings.buckets:
            for _ in range(2):
                self.model(self.ids[:size])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                self.logits[size] = self.model(self.ids[:size])
            pool = pool or graph.pool()
            self.graphs[size] = graph

    @torch.inference_mode()
    def run(self, ids: torch.Tensor) -> torch.Tensor:
        n = ids.shape[0]
        size = min(s for s in self.settings.buckets if s >= n)
        self.ids[:n].copy_(ids)
        self.ids[n:size].zero_()
        self.graphs[size].replay()
        return self.logits[size][:n].clone()


class Engine:
    def __init__(self, settings: Settings | None = None):
        self.settings = settings or Settings()
        self.blocks = BlockManager(self.settings)
        self.model = PagedModel(self.settings, self.blocks).cuda().eval()
        self.runners: dict[Phase, Runner] = {
            Phase.PREFILL: EagerRunner(self.model, self.settings),
            Phase.DECODE: GraphRunner(self.model, self.settings),
        }
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []

    def add(self, tokens: list[int]) -> Sequence:
        sequence = Sequence(tokens)
        self.waiting.append(sequence)
        return sequence

    def _schedule(self) -> tuple[Phase, list[Sequence]]:
        if self.waiting and len(self.running) < self.settings.max_batch:
            sequence = self.waiting.popleft()
            self.running.append(sequence)
            return Phase.PREFILL, [sequence]
        return Phase.DECODE, self.running

    def step(self) -> None:
        phase, batch = self._schedule()
        for sequence in batch:
            self.blocks.reserve(sequence)
        self.blocks.publish(batch)
        ids = torch.tensor([s.tokens[-1] for s in batch], device="cuda")
        logits = self.runners[phase].run(ids)
        for sequence, token in zip(batch, logits.argmax(-1).tolist()):
            sequence.tokens.append(token)
        finished = [s for s in self.running if s.tokens[-1] == 0]
        for sequence in finished:
            self.running.remove(sequence)
            self.blocks.release(sequence)

    def generate(self, prompts: list[list[int]]) -> list[list[int]]:
        sequences = [self.add(p) for p in prompts]
        while self.waiting or self.running:
            self.step()
        return [s.tokens for s in sequences]
