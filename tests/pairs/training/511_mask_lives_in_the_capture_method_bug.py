"""Drawn from whole-network capture of models that get a mask beside their tokens.

Symptom: after a while the loss goes wild: the mask is a local name of the method that captures; when it returns,
the memory goes to somebody else, and replays read it all the same.
"""

from __future__ import annotations

import torch
from torch import nn


def band_mask(length: int, window: int) -> torch.Tensor:
    rows = torch.arange(length, device="cuda")
    distance = rows[:, None] - rows[None, :]
    return (distance >= 0) & (distance < window)


class LocalAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        q, k, v = (part.view(b, n, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(b, n, d))


class CharModel(nn.Module):
    def __init__(self, vocab: int, width: int, depth: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(LocalAttention(width, 4) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer, norm in zip(self.layers, self.norms):
            x = x + layer(norm(x), mask)
        return self.head(x)


class CharTrainer:
    def __init__(self, vocab: int, length: int, batch: int, window: int = 64) -> None:
        self.model = CharModel(vocab, 256, 4).cuda()
        self.opt = torch.optim.RAdam(self.model.parameters(), lr=1e-3, capturable=True)
        self.tokens = torch.zeros(batch, length + 1, dtype=torch.long, device="cuda")
        self.length, self.window = length, window
        self._capture()

    def _step(self, mask: torch.Tensor) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        logits = self.model(self.tokens[:, :-1], mask)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), self.tokens[:, 1:].flatten())
        loss.backward()
        self.opt.step()
        return loss

    def _capture(self) -> None:
        mask = band_mask(self.length, self.window)  # HAZARD: stale-pointer, rebind-static-input
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step(mask)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # ALT: stale-pointer, rebind-static-input
            self.loss = self._step(mask)  # ALT: stale-pointer, rebind-static-input

    def fit(self, loader) -> float:
        for tokens in loader:
            self.tokens.copy_(tokens, non_blocking=True)
            self.graph.replay()
        return self.loss.item()
