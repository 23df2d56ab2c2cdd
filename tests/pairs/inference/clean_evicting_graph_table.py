"""Clean: a table of at most a few graphs forgets the oldest together with its buffers; answers are copies, and
everything that decides about a graph is in its key.
"""

from collections import OrderedDict
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class Key:
    batch: int
    length: int
    with_history: bool


@dataclass
class Entry:
    graph: torch.cuda.CUDAGraph
    ids: torch.Tensor
    history: torch.Tensor
    logits: torch.Tensor


class Captioner(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.head = nn.Linear(width, vocab)

    def forward(self, ids: torch.Tensor, history: torch.Tensor | None) -> torch.Tensor:
        x = self.embed(ids).cumsum(1)
        if history is not None:
            x = x + history[:, None]
        return self.head(x[:, -1])


class GraphTable:
    def __init__(self, model: Captioner, limit: int = 4):
        self.model, self.limit = model.cuda().eval(), limit
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        self.hits = self.misses = 0

    def _make(self, key: Key) -> Entry:
        ids = torch.zeros(key.batch, key.length, dtype=torch.long, device="cuda")
        history = torch.zeros(key.batch, self.model.embed.embedding_dim, device="cuda")
        given = history if key.with_history else None
        for _ in range(2):
            self.model(ids, given)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = self.model(ids, given)
        return Entry(graph, ids, history, logits)

    def _entry(self, key: Key) -> Entry:
        if key in self.entries:
            self.hits += 1
            self.entries.move_to_end(key)
            return self.entries[key]
        self.misses += 1
        if len(self.entries) >= self.limit:
            torch.cuda.synchronize()
            _, oldest = self.entries.popitem(last=False)
            oldest.graph.reset()
        entry = self.entries[key] = self._make(key)
        return entry

    @torch.inference_mode()
    def __call__(self, ids: torch.Tensor, history: torch.Tensor | None = None) -> torch.Tensor:
        entry = self._entry(Key(ids.shape[0], ids.shape[1], history is not None))
        entry.ids.copy_(ids)
        if history is not None:
            entry.history.copy_(history)
        entry.graph.replay()
        return entry.logits.clone()
