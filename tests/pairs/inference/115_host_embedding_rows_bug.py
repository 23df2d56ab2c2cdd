"""Symptom: the large embedding table stays on the host; the captured model fetches rows by moving the token
numbers to the host and the rows back.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class HostEmbedding(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.rows = [torch.zeros(vocab, width)]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        found = F.embedding(ids.cpu(), self.rows[0])  # HAZARD: sync-in-capture
        return found.to(ids.device)  # ALT: pageable-copy


class DeviceEmbedding(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(vocab, width))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return F.embedding(ids, self.weight)


class SmallModel(nn.Module):
    def __init__(self, vocab: int, width: int, embedding: type[nn.Module]):
        super().__init__()
        self.embed = embedding(vocab, width)
        self.head = nn.Linear(width, vocab)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed(ids))


def engine(vocab: int, width: int, batch: int, low_memory: bool = True):
    model = SmallModel(vocab, width, HostEmbedding if low_memory else DeviceEmbedding).cuda()
    ids = torch.zeros(batch, dtype=torch.long, device="cuda")
    with torch.inference_mode():
        for _ in range(2):
            model(ids)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = model(ids)

    def step(new: torch.Tensor) -> torch.Tensor:
        ids.copy_(new)
        graph.replay()
        return logits.argmax(-1)

    return step
