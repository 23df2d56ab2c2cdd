"""Clean: sessions own their caches; a step copies them in and out, and the text is read from a copy."""

from __future__ import annotations

import torch
import torch.nn as nn


class Session:
    def __init__(self, width: int):
        self.cache = torch.zeros(1, width, device="cuda")
        self.text: list[int] = []


class Streamer:
    def __init__(self, encoder: nn.GRUCell, head: nn.Linear, width: int):
        self.encoder, self.head, self.width = encoder.cuda(), head.cuda(), width
        self.chunk = torch.zeros(1, width, device="cuda")
        self.cache = torch.zeros(1, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def prepare(self) -> None:
        for _ in range(2):
            self.head(self.encoder(self.chunk, self.cache))
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.next_cache = self.encoder(self.chunk, self.cache)
            self.best = self.head(self.next_cache).argmax(-1)

    def connect(self) -> Session:
        return Session(self.width)

    @torch.inference_mode()
    def feed(self, session: Session, chunk: torch.Tensor) -> list[int]:
        self.chunk.copy_(chunk)
        self.cache.copy_(session.cache)
        self.graph.replay()
        session.cache.copy_(self.next_cache)
        session.text.append(self.best.item())
        return session.text
