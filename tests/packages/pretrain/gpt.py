from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .config import TransformerConfig
from .core.transformer import TransformerBlock


class GPTModel(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        size = (config.vocab_size, config.hidden_size)
        self.embedding = nn.Embedding(*size, device="cuda", dtype=config.params_dtype)
        self.decoder = TransformerBlock(config)
        self.head = nn.Linear(size[1], size[0], bias=False, device="cuda", dtype=config.params_dtype)

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        hidden = self.decoder(self.embedding(tokens))
        logits = self.head(hidden).float()
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())
