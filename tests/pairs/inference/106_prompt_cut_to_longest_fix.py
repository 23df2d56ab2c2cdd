"""Fixed form: the captured tower keeps the padding; the mask takes care of it."""

import torch
import torch.nn as nn


class Trim(nn.Module):
    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        longest = mask.sum(-1).max()
        return hidden[:, :longest], mask[:, :longest]


class Keep(nn.Module):
    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return hidden, mask


TRIMMERS = {"cut": Trim, "keep": Keep}


class TextTower(nn.Module):
    def __init__(self, vocab: int, width: int, trimming: str):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.trim = TRIMMERS[trimming]()
        self.mix = nn.Linear(width, width)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden, mask = self.trim(self.embed(ids), mask)
        hidden = self.mix(hidden) * mask[..., None]
        return hidden.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


class PromptEncoder:
    trimming = "keep"

    def __init__(self, vocab: int, width: int, batch: int, length: int):
        self.tower = TextTower(vocab, width, self.trimming).cuda().eval()
        self.ids = torch.zeros(batch, length, dtype=torch.long, device="cuda")
        self.mask = torch.ones(batch, length, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.tower(self.ids, self.mask)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.pooled = self.tower(self.ids, self.mask)

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        self.ids.copy_(ids)
        self.mask.copy_(mask)
        self.graph.replay()
        return self.pooled.clone()
