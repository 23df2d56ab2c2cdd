"""Makes graphed layers."""

import torch
from torch import nn


def graphed_linear(width: int):
    sample = torch.zeros(8, width, device="cuda")
    return torch.cuda.make_graphed_callables(nn.Linear(width, width).cuda(), (sample,))
