"""Fixed form: one graph is recorded for each choice and the step picks by the same test."""

import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, width: int, length: int):
        super().__init__()
        self.register_buffer("keys", torch.zeros(length, width))

    def _whole(self, q: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ self.keys.t(), -1) @ self.keys

    def _split(self, q: torch.Tensor) -> torch.Tensor:
        parts = [torch.logsumexp(q @ k.t(), -1, keepdim=True) for k in self.keys.chunk(4)]
        return q * torch.cat(parts, -1).logsumexp(-1, keepdim=True)

    def forward(self, q: torch.Tensor, split: bool) -> torch.Tensor:
        if split:
            return self._split(q)
        return self._whole(q)


class Worker:
    def __init__(self, width: int, batch: int):
        self.attention = Attention(width, 8192).cuda()
        self.q = torch.zeros(batch, width, device="cuda")
        self.graphs, self.outs = {}, {}

    @torch.inference_mode()
    def capture(self) -> None:
        for split in (True, False):
            for _ in range(2):
                self.attention(self.q, split)
            torch.cuda.synchronize()
            self.graphs[split] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[split]):
                self.outs[split] = self.attention(self.q, split)

    def step(self, q: torch.Tensor, lens: list[int]) -> torch.Tensor:
        split = max(lens) > 2048
        self.q.copy_(q)
        self.graphs[split].replay()
        return self.outs[split].clone()
