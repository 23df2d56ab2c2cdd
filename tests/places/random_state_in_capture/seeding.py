"""Reproducible layers: seeds and states are set where they should not be."""

import torch
from torch import nn


def reseed(seed: int):
    torch.manual_seed(seed)  # expect: CG505
    torch.cuda.manual_seed_all(seed)  # expect: CG505


class Reproducible(nn.Module):
    def __init__(self, width: int, seed: int):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.seed = seed
        torch.manual_seed(seed)  # ok: CG505
        nn.init.normal_(self.linear.weight)

    def forward(self, x):
        reseed(self.seed)
        return torch.nn.functional.dropout(self.linear(x), 0.1)


class Replayed(nn.Module):
    """Runs a function twice with the same random numbers."""

    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        state = torch.cuda.get_rng_state()  # expect: CG505
        first = torch.nn.functional.dropout(self.linear(x), 0.1)
        torch.cuda.set_rng_state(state)  # expect: CG505
        return first + torch.nn.functional.dropout(self.linear(x), 0.1)
