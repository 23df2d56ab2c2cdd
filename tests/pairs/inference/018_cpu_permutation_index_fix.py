"""Fixed form: the permutation is a buffer and moves with the module."""

import torch
import torch.nn as nn


class HeadShuffle(nn.Module):
    def __init__(self, heads: int):
        super().__init__()
        order = torch.arange(heads).reshape(2, -1).t().reshape(-1)
        self.register_buffer("order", order)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, self.order]


class SpeechEncoder(nn.Module):
    def __init__(self, heads: int, width: int):
        super().__init__()
        self.heads = heads
        self.inp = nn.Linear(width, heads * 4)
        self.shuffle = HeadShuffle(heads)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inp(x).view(x.shape[0], self.heads, 4)
        return self.shuffle(y).flatten(1)


class EncoderService:
    def __init__(self, encoder: SpeechEncoder, batch: int, width: int):
        self.encoder = encoder.to(torch.device("cuda")).eval()
        self.x = torch.zeros((batch, width), device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def warmup(self) -> None:
        with torch.inference_mode():
            for _ in range(3):
                self.encoder(self.x)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.encoder(self.x)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        self.x[: x.shape[0]].copy_(x)
        self.x[x.shape[0] :].zero_()
        self.graph.replay()
        return self.y[: x.shape[0]].clone()
