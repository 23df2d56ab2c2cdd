"""Inner loops and critics."""

import torch
from torch import nn


def whole(net: nn.Module, x: torch.Tensor):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net(x).mean().backward()
        optimizer.step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()  # expect: CG803
        optimizer.step()
    for _ in range(10):
        graph.replay()


def whole_cleared(net: nn.Module, x: torch.Tensor):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net(x).mean().backward()
        optimizer.step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.zero_grad(set_to_none=False)
        net(x).mean().backward()  # ok: CG803
        optimizer.step()
    for _ in range(10):
        graph.replay()


def inner(net: nn.Module, x: torch.Tensor):
    net(x).mean().backward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.autograd.backward([net(x).mean()])  # expect: CG803
    graph.replay()


def functional(net: nn.Module, x: torch.Tensor):
    weights = list(net.parameters())
    net(x).mean().backward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gradients = torch.autograd.grad(net(x).mean(), weights)  # ok: CG803
    graph.replay()
    return gradients


def set_to_none(net: nn.Module, x: torch.Tensor):
    net(x).mean().backward()
    for parameter in net.parameters():
        parameter.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()  # ok: CG803
    graph.replay()


def two_losses(net: nn.Module, x: torch.Tensor):
    net(x).mean().backward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (net(x).mean() + net(x * 2).mean()).backward()  # expect: CG803
    graph.replay()


def shown(net: nn.Module, x: torch.Tensor):
    net(x).mean().backward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()  # graphlint: ignore[CG803] -- meant to add up
    graph.replay()
