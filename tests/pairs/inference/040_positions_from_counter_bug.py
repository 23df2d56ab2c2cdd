"""Symptom: the captured step makes its position tensor from a Python counter that the server advances."""

import torch
import torch.nn as nn


class StreamState:
    def __init__(self, batch: int):
        self.batch = batch
        self.offset = 0
        self.where = torch.zeros(batch, dtype=torch.long, device="cuda")

    def advance(self, frames: int) -> None:
        self.offset += frames  # ALT: frozen-scalar
        self.where.add_(frames)


class StreamingLayer(nn.Module):
    def __init__(self, limit: int, width: int):
        super().__init__()
        self.places = nn.Embedding(limit, width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, state: StreamState) -> torch.Tensor:
        where = torch.full((state.batch,), state.offset, device=x.device)  # HAZARD: frozen-scalar
        return self.out(x + self.places(where))


class StreamServer:
    def __init__(self, limit: int, width: int, batch: int):
        self.layer = StreamingLayer(limit, width).cuda()
        self.state = StreamState(batch)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def start(self) -> None:
        for _ in range(2):
            self.layer(self.x, self.state)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x, self.state)

    def feed(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        self.state.advance(1)
        return self.y.clone()
