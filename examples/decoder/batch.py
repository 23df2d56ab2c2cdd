"""What a decode step works on."""

import torch


class Batch:
    def __init__(self, size: int):
        self.tokens = torch.zeros(size, dtype=torch.long, device="cuda")
        self.lengths = torch.ones(size, dtype=torch.int32, device="cuda")

    def advance(self, tokens: torch.Tensor) -> None:
        self.tokens.copy_(tokens)
        self.lengths = self.lengths + 1
