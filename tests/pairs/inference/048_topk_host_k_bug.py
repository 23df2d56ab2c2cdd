"""Symptom: the sampler's k is taken from the batch's settings on every step, and topk() has recorded
the k of the capture.
"""

import torch
import torch.nn as nn


class TopK(nn.Module):
    def __init__(self, most: int):
        super().__init__()
        self.most = most
        self.k = most
        self.register_buffer("limit", torch.full((1,), most, dtype=torch.long))

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        values, index = logits.topk(self.k, dim=-1)  # HAZARD: frozen-scalar
        rank = torch.arange(values.shape[-1], device=logits.device)
        values = values.masked_fill(rank >= self.limit, float("-inf"))
        choice = (values.softmax(-1) / torch.empty_like(values).exponential_()).argmax(-1, keepdim=True)
        return index.gather(-1, choice)


class SamplerGraph:
    def __init__(self, batch: int, vocab: int, most: int):
        self.sampler = TopK(most).cuda()
        self.logits = torch.zeros(batch, vocab, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self) -> None:
        for _ in range(2):
            self.sampler(self.logits)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.sampler(self.logits)

    def sample(self, logits: torch.Tensor, settings: list[int]) -> torch.Tensor:
        self.sampler.k = max(settings)  # ALT: frozen-scalar
        self.sampler.limit.fill_(max(settings))
        self.logits.copy_(logits)
        self.graph.replay()
        return self.tokens.clone()
