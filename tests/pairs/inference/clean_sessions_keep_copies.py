"""Right: sessions of a recogniser take turns on one graph; each owns its state and gets it back by a copy."""

from __future__ import annotations

import torch
import torch.nn as nn


class Session:
    def __init__(self, width: int):
        self.h = torch.zeros(1, width, device="cuda")
        self.text: list[int] = []


class Recogniser:
    def __init__(self, cell: nn.GRUCell, width: int):
        self.cell = cell
        self.x = torch.zeros(1, width, device="cuda")
        self.h = torch.zeros(1, width, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None
        self.sessions: dict[str, Session] = {}
        self.width = width

    def _ensure_graph(self) -> torch.cuda.CUDAGraph:
        if self.graph is not None:
            return self.graph
        for _ in range(2):
            self.cell(self.x, self.h)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.new_h = self.cell(self.x, self.h)
        return self.graph

    @torch.inference_mode()
    def feed(self, name: str, frame: torch.Tensor) -> list[int]:
        session = self.sessions.setdefault(name, Session(self.width))
        graph = self._ensure_graph()
        self.x.copy_(frame)
        self.h.copy_(session.h)
        graph.replay()
        session.h.copy_(self.new_h)
        session.text.append(self.new_h.argmax(-1).item())
        return session.text

    def close(self, name: str) -> list[int]:
        return self.sessions.pop(name).text
