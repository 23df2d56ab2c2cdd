"""What a loop does around its steps."""

import torch


def forget(net: torch.nn.Module):
    for parameter in net.parameters():
        parameter.grad = None  # expect: CG802


def clear(optimizer: torch.optim.Optimizer):
    optimizer.zero_grad(set_to_none=False)  # ok: CG802
