"""Drawn from NVIDIA/TransformerEngine#869 (gradients reset by the capturing helper).

Symptom: the builder leaves no trace of its warm-up: it sets all gradients to None at the end. The graph
accumulates into memory that is nobody's `.grad` any more.
"""

import torch
from torch import nn


def clean(module: nn.Module) -> None:
    for p in module.parameters():
        if p.grad is not None:
            p.grad.zero_()


class BackwardGraph:
    def __init__(self, module: nn.Module, example: torch.Tensor):
        self.module = module
        self.x = example.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                module(self.x).square().mean().backward()
        torch.cuda.current_stream().wait_stream(side)
        for p in module.parameters():
            p.grad.zero_()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = module(self.x).square().mean()
            self.loss.backward()
        clean(module)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.loss.detach().clone()


def train(net: nn.Module, loader, example: torch.Tensor) -> None:
    net = net.cuda()
    step = BackwardGraph(net, example.cuda())
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        step(x)
        opt.step()
        opt.zero_grad(set_to_none=False)
