from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .arguments import TrainingArgs
from .layers import Block


class GPTModel(nn.Module):
    def __init__(self, args: TrainingArgs) -> None:
        super().__init__()
        self.embedding = nn.Embedding(args.vocab, args.hidden)
        self.blocks = nn.ModuleList([Block(args) for _ in range(args.layers)])
        self.final_norm = nn.LayerNorm(args.hidden)
        self.output = nn.Linear(args.hidden, args.vocab, bias=False)

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        logits = self.output(self.final_norm(x))
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def model_provider(args: TrainingArgs) -> GPTModel:
    return GPTModel(args).cuda()
