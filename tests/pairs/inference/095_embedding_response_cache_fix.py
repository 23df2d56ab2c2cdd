"""Fixed form: what goes into the cache is a copy."""

import hashlib
from collections import OrderedDict

import torch
import torch.nn as nn


class AnswerCache:
    def __init__(self, limit: int):
        self.limit = limit
        self.items: OrderedDict[str, torch.Tensor] = OrderedDict()

    @staticmethod
    def key(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    def find(self, text: str) -> torch.Tensor | None:
        return self.items.get(self.key(text))

    def keep(self, text: str, vector: torch.Tensor) -> None:
        self.items[self.key(text)] = vector.clone()
        while len(self.items) > self.limit:
            self.items.popitem(last=False)


class EmbedGraph:
    def __init__(self, net: nn.Module, batch: int, length: int):
        self.net = net
        self.ids = torch.zeros(batch, length, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.inference_mode():
            for _ in range(2):
                net(self.ids)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.vectors = net(self.ids).mean(1)

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        self.ids.zero_()
        self.ids[: ids.shape[0], : ids.shape[1]].copy_(ids)
        self.graph.replay()
        return self.vectors[: ids.shape[0]]


class EmbeddingServer:
    def __init__(self, net: nn.Module, tokenizer, batch: int, length: int):
        self.graph = EmbedGraph(net, batch, length)
        self.tokenizer, self.cache = tokenizer, AnswerCache(1000)

    def embed(self, texts: list[str]) -> list[torch.Tensor]:
        missing = [t for t in texts if self.cache.find(t) is None]
        if missing:
            ids = torch.tensor(self.tokenizer(missing))
            vectors = self.graph(ids)
            for text, vector in zip(missing, vectors, strict=False):
                self.cache.keep(text, vector)
        return [self.cache.find(t) for t in texts]
