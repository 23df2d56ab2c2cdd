"""Fixed form: the captured code takes the batch as it is; the host knows whether there is one."""

import torch
import torch.nn as nn


class TokenBatch:
    def __init__(self, tokens: int):
        self.ids = torch.zeros(tokens, dtype=torch.long, device="cuda")
        self.used = torch.zeros(tokens, dtype=torch.bool, device="cuda")

    def __len__(self) -> int:
        return int(self.used.sum())

    def load(self, ids: torch.Tensor) -> None:
        self.ids.zero_()
        self.used.zero_()
        self.ids[: ids.shape[0]].copy_(ids)
        self.used[: ids.shape[0]].fill_(True)


class Embedder(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.table = nn.Embedding(vocab, width)
        self.none = nn.Parameter(torch.zeros(width))

    def forward(self, batch: TokenBatch) -> torch.Tensor:
        return torch.where(batch.used[:, None], self.table(batch.ids), self.none)


class EmbedGraph:
    def __init__(self, vocab: int, width: int, tokens: int):
        self.embedder = Embedder(vocab, width).cuda()
        self.batch = TokenBatch(tokens)
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.embedder(self.batch)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.rows = self.embedder(self.batch)

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        self.batch.load(ids)
        self.graph.replay()
        return self.rows[: ids.shape[0]].clone()
