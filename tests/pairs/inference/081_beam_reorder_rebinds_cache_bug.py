"""Symptom: after each beam step the caches are reordered by index_select, which makes new tensors; the
graph goes on to read and write the caches of the first step.
"""

import torch
import torch.nn as nn


class CachedLayer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor, cache: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        rows = torch.arange(x.shape[0], device=x.device)
        cache[rows, at] = k + v
        scores = torch.einsum("bd,btd->bt", q, cache)
        return torch.einsum("bt,btd->bd", scores.softmax(-1), cache)


class BeamDecoder(nn.Module):
    def __init__(self, vocab: int, width: int, depth: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(CachedLayer(width) for _ in range(depth))
        self.head = nn.Linear(width, vocab)
        self.caches: list[torch.Tensor] = []

    def allocate(self, beams: int, length: int) -> None:
        width = self.embed.embedding_dim
        self.caches = [torch.zeros(beams, length, width, device="cuda") for _ in self.layers]

    def forward(self, ids: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer, cache in zip(self.layers, self.caches, strict=False):
            x = x + layer(x, cache, at)
        return self.head(x)

    def reorder(self, parents: torch.Tensor) -> None:
        self.caches = [c.index_select(0, parents) for c in self.caches]  # HAZARD: rebind-static-input


class BeamSearch:
    def __init__(self, decoder: BeamDecoder, beams: int, length: int):
        self.decoder, self.beams, self.length = decoder.cuda(), beams, length
        self.decoder.allocate(beams, length)
        self.ids = torch.zeros(beams, dtype=torch.long, device="cuda")
        self.at = torch.zeros(beams, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.decoder(self.ids, self.at)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits = self.decoder(self.ids, self.at)

    @torch.inference_mode()
    def search(self, start: int) -> torch.Tensor:
        self.ids.fill_(start)
        scores = torch.zeros(self.beams, 1, device="cuda")
        found = []
        for step in range(self.length):
            self.at.fill_(step)
            self.graph.replay()
            total = scores + self.logits.log_softmax(-1)
            best, index = total.flatten().topk(self.beams)
            parents, tokens = index // total.shape[1], index % total.shape[1]
            self.decoder.reorder(parents)
            self.ids.copy_(tokens)
            scores = best[:, None]
            found.append(tokens)
        return torch.stack(found)
