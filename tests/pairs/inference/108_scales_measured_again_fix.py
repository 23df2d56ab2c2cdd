"""Fixed form: the scale is a device tensor that a measurement writes."""

import torch
import torch.nn as nn


class ScaledCache:
    def __init__(self, slots: int, width: int):
        self.data = torch.zeros(slots, width, dtype=torch.int8, device="cuda")
        self.scale = torch.ones((), device="cuda")

    def store(self, rows: torch.Tensor, values: torch.Tensor) -> None:
        self.data.index_copy_(0, rows, (values / self.scale).round().to(torch.int8))

    def load(self) -> torch.Tensor:
        return self.data.float() * self.scale

    def measure(self, sample: torch.Tensor) -> None:
        self.scale.copy_(sample.abs().max().clamp(min=1e-6) / 127)


class QuantAttention(nn.Module):
    def __init__(self, width: int, cache: ScaledCache):
        super().__init__()
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.cache = cache

    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        self.cache.store(rows, self.k(x))
        keys = self.cache.load()
        return (self.q(x) @ keys.t()).softmax(-1) @ keys


class QuantEngine:
    interval = 100

    def __init__(self, width: int, slots: int, batch: int):
        self.cache = ScaledCache(slots, width)
        self.attn = QuantAttention(width, self.cache).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.rows = torch.arange(batch, device="cuda")
        self.graph, self.steps = torch.cuda.CUDAGraph(), 0

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.attn(self.x, self.rows)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.attn(self.x, self.rows)

    def step(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        if self.steps % self.interval == 0:
            self.cache.measure(x)
        self.x.copy_(x)
        self.rows.copy_(rows)
        self.graph.replay()
        return self.y.clone()
