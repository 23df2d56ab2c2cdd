"""Records one graph."""

import torch


def recorded(net: torch.nn.Module, x: torch.Tensor, pool=None):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):  # expect: CG602
        y = net(x)
    return graph, y


def recorded_with_pool(net: torch.nn.Module, x: torch.Tensor, pool):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):  # ok: CG602
        y = net(x)
    return graph, y
