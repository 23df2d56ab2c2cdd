"""A loss that runs its own backward pass."""

import torch


def backpropagated(net: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    loss = net(x).mean()
    loss.backward()  # expect: CG803
    return loss


def cleared(net: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    for parameter in net.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()
    loss = net(x).mean()
    loss.backward()  # ok: CG803
    return loss
