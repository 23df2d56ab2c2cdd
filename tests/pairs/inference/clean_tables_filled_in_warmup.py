"""Clean: the sinusoid tables are cached by length; warm-up runs the very shapes that are captured, so
the capture only finds them.
"""

import math

import torch
import torch.nn as nn


class Sinusoid(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.width = width
        self.tables: dict[int, torch.Tensor] = {}

    def _build(self, length: int, device: torch.device) -> torch.Tensor:
        half = self.width // 2
        scale = torch.tensor([math.exp(-i * math.log(10000) / half) for i in range(half)])
        angle = torch.arange(length)[:, None] * scale[None]
        return torch.cat([angle.sin(), angle.cos()], -1).to(device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[1]
        if length not in self.tables:
            self.tables[length] = self._build(length, x.device)
        return x + self.tables[length]


class TtsEncoder(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.place = Sinusoid(width)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.place(self.embed(ids))


class TtsGraphs:
    def __init__(self, vocab: int, width: int, lengths: tuple[int, ...] = (256, 128, 64)):
        self.encoder = TtsEncoder(vocab, width).cuda().eval()
        self.ids = {n: torch.zeros(1, n, dtype=torch.long, device="cuda") for n in lengths}
        self.graphs, self.outs = {}, {}
        self.pool = torch.cuda.graph_pool_handle()

    @torch.inference_mode()
    def prepare(self) -> None:
        for n, ids in self.ids.items():
            for _ in range(2):
                self.encoder(ids)
            torch.cuda.synchronize()
            self.graphs[n] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[n], pool=self.pool):
                self.outs[n] = self.encoder(ids)

    def encode(self, ids: torch.Tensor) -> torch.Tensor:
        n = min(size for size in self.ids if size >= ids.shape[1])
        self.ids[n].zero_()
        self.ids[n][:, : ids.shape[1]].copy_(ids)
        self.graphs[n].replay()
        return self.outs[n][:, : ids.shape[1]].clone()
