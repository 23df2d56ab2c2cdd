"""Activation statistics are collected by forward hooks that are registered before the module is graphed,
which make_graphed_callables refuses."""

import torch
from torch import nn


class ActivationStats:
    def __init__(self, momentum=0.9):
        self.momentum = momentum
        self.mean = {}

    def attach(self, name, module):
        def record(mod, args, output):
            value = output.detach().abs().mean()
            old = self.mean.get(name, value)
            self.mean[name] = self.momentum * old + (1.0 - self.momentum) * value

        return module.register_forward_hook(record)


def graph_encoder(encoder, shape):
    sample = torch.randn(shape, device="cuda", requires_grad=True)
    return torch.cuda.make_graphed_callables(encoder, (sample,))  # HAZARD: training, other


def build(width, batch):
    encoder = nn.Sequential(nn.Linear(width, width), nn.ReLU()).cuda()
    stats = ActivationStats()
    stats.attach("encoder", encoder)
    encoder = graph_encoder(encoder, (batch, width))
    return encoder, stats


def train(loader, width=64, batch=32):
    encoder, stats = build(width, batch)
    opt = torch.optim.SGD(encoder.parameters(), lr=1e-3)
    for x in loader:
        opt.zero_grad(set_to_none=True)
        encoder(x.cuda().requires_grad_(True)).sum().backward()
        opt.step()
    return {name: value.item() for name, value in stats.mean.items()}
