"""Drawn from overlapped gradient compression: hooks of parameters work on a stream of their own.

Symptom: the hooks compress gradients on a stream that never waits for the capturing one; what they do is not part
of the graph, or the capture is broken by it.
"""

from __future__ import annotations

import torch
from torch import nn


class Compressor:
    """Keeps the error of rounding gradients to bfloat16 and adds it to the next ones."""

    def __init__(self, module: nn.Module) -> None:
        self.stream = torch.cuda.Stream()
        self.errors: dict[str, torch.Tensor] = {}
        self.sent: dict[str, torch.Tensor] = {}
        for name, p in module.named_parameters():
            self.errors[name] = torch.zeros_like(p)
            self.sent[name] = torch.zeros_like(p, dtype=torch.bfloat16)
            p.register_hook(self._hook(name))

    def _hook(self, name: str):
        def compress(grad: torch.Tensor) -> None:
            with torch.cuda.stream(self.stream):  # HAZARD: stream-escape
                whole = grad + self.errors[name]
                self.sent[name].copy_(whole)
                self.errors[name].copy_(whole - self.sent[name].float())

        return compress

    def join(self) -> None:
        torch.cuda.current_stream().wait_stream(self.stream)


class Model(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.nn.functional.silu(layer(x))
        return x


class CompressedTraining:
    def __init__(self, width: int = 512, depth: int = 6, batch: int = 64) -> None:
        self.model = Model(width, depth).cuda()
        self.compressor = Compressor(self.model)
        self.x = torch.zeros(batch, width, device="cuda")
        self.y = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _backward(self) -> torch.Tensor:
        self.model.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(self.model(self.x), self.y)
        loss.backward()
        self.compressor.join()
        return loss

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._backward()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._backward()

    @torch.no_grad()
    def step(self, x: torch.Tensor, y: torch.Tensor, lr: float = 0.01) -> None:
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        for name, p in self.model.named_parameters():
            p.add_(self.compressor.sent[name].float(), alpha=-lr)
