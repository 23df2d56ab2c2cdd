"""What a decode step reads and the scheduler rewrites."""

import torch


class StaticInputs:
    def __init__(self, size: int):
        self.tokens = torch.zeros(size, dtype=torch.long, device="cuda")
        self.positions = torch.zeros(size, dtype=torch.long, device="cuda")
        self.lengths = torch.ones(size, dtype=torch.int32, device="cuda")
        self.requests: list[str] = []

    def load(self, tokens: torch.Tensor, positions: torch.Tensor, requests: list[str]):
        self.tokens[: len(tokens)].copy_(tokens)  # ok: CG101
        self.positions = positions.to("cuda", non_blocking=True)  # expect: CG101
        self.lengths = self.lengths + 1  # expect: CG101
        self.requests = requests  # ok: CG101
