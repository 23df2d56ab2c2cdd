"""Drawn from sequence curricula (the attention span grows with the epochs).

Symptom: setting the span builds another mask through a property setter; the captured attention reads
the mask that was there before.
"""

import torch
from torch import nn


class SpanAttention(nn.Module):
    def __init__(self, width: int, length: int, span: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, device="cuda")
        self.length = length
        self.mask = torch.zeros(length, length, device="cuda")
        self.span = span

    @property
    def span(self) -> int:
        return self._span

    @span.setter
    def span(self, value: int) -> None:
        self._span = value
        distance = torch.arange(self.length, device="cuda")[:, None] - torch.arange(
            self.length, device="cuda"
        )
        allowed = (distance >= 0) & (distance < value)
        self.mask.copy_(torch.where(allowed, 0.0, float("-inf")))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return torch.softmax(q @ k.transpose(-1, -2) + self.mask, dim=-1) @ v


class CurriculumTrainer:
    def __init__(self, layer: SpanAttention, width: int):
        self.layer = layer
        self.x = torch.zeros(4, layer.length, width, device="cuda")
        self.opt = torch.optim.SGD(layer.parameters(), lr=0.1)
        self.graph = torch.cuda.CUDAGraph()

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.layer(self.x).square().mean().backward()
        torch.cuda.current_stream().wait_stream(side)
        self.opt.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.layer(self.x).square().mean().backward()

    def fit(self, loader, spans: list[int]) -> None:
        for span in spans:
            self.layer.span = span
            for x in loader:
                self.x.copy_(x)
                self.graph.replay()
                self.opt.step()
