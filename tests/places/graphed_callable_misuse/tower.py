"""A graphed tower and the losses over it."""

import torch
from factory import graphed_linear
from torch import nn


class Tower:
    def __init__(self, width: int):
        self.net = graphed_linear(width)

    def embed(self, x: torch.Tensor):
        return self.net(input=x)  # expect: CG807

    def embed_by_position(self, x: torch.Tensor):
        return self.net(x)  # ok: CG807


def hooked(width: int):
    layer = nn.Linear(width, width).cuda()
    layer.register_forward_hook(lambda module, given, out: out * 2)
    return torch.cuda.make_graphed_callables(layer, (torch.zeros(8, width, device="cuda"),))  # expect: CG807


def hooked_afterwards(width: int):
    layer = nn.Linear(width, width).cuda()
    layer = torch.cuda.make_graphed_callables(layer, (torch.zeros(8, width, device="cuda"),))  # ok: CG807
    layer.register_forward_hook(lambda module, given, out: out * 2)
    return layer


def hooked_for_a_while(width: int):
    layer = nn.Linear(width, width).cuda()
    handle = layer.register_forward_pre_hook(lambda module, given: None)
    layer(torch.zeros(8, width, device="cuda"))
    handle.remove()
    return torch.cuda.make_graphed_callables(layer, (torch.zeros(8, width, device="cuda"),))  # ok: CG807
