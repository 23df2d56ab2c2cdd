"""Fixed form: rows are fetched before the replay, and the captured model begins with them."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class HostEmbedding(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.rows = [torch.zeros(vocab, width)]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return F.embedding(ids.cpu(), self.rows[0]).to(ids.device)


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

    def forward(self, embedded: torch.Tensor) -> torch.Tensor:
        return self.head(embedded)


def engine(vocab: int, width: int, batch: int, low_memory: bool = True):
    model = SmallModel(vocab, width, HostEmbedding if low_memory else DeviceEmbedding).cuda()
    embedded = torch.zeros(batch, width, device="cuda")
    with torch.inference_mode():
        for _ in range(2):
            model(embedded)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = model(embedded)

    def step(new: torch.Tensor) -> torch.Tensor:
        embedded.copy_(model.embed(new))
        graph.replay()
        return logits.argmax(-1)

    return step
