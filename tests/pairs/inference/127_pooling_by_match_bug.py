"""Symptom: the pooling layer chooses its method by name; the method for markers looks for their positions,
whose number is not known before the device has counted them.
"""

import torch
import torch.nn as nn


class Pooling(nn.Module):
    def __init__(self, method: str, marker: int = 7):
        super().__init__()
        self.method, self.marker = method, marker

    def forward(self, hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        match self.method:
            case "mean":
                return hidden.mean(1)
            case "first":
                return hidden[:, 0]
            case "marker":
                return self._at_markers(hidden, ids)
            case other:
                raise ValueError(f"unknown pooling {other!r}")

    def _at_markers(self, hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        rows, columns = torch.nonzero(ids == self.marker, as_tuple=True)  # HAZARD: dynamic-shape
        return hidden[rows, columns]


class Reranker(nn.Module):
    def __init__(self, vocab: int, width: int, pooling: str):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.pool = Pooling(pooling)
        self.score = nn.Linear(width, 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.score(self.pool(self.embed(ids), ids)).squeeze(-1)


class RerankService:
    def __init__(self, vocab: int, width: int, batch: int, length: int, pooling: str = "marker"):
        self.model = Reranker(vocab, width, pooling).cuda().eval()
        self.ids = torch.full((batch, length), self.model.pool.marker, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def start(self) -> None:
        for _ in range(2):
            self.model(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.scores = self.model(self.ids)

    def rank(self, ids: torch.Tensor) -> list[int]:
        self.ids.copy_(ids)
        self.graph.replay()
        return self.scores.argsort(descending=True).tolist()
