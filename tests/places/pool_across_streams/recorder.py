"""Records on a stream that the caller brings, or on its own."""

import torch


def recorded(net: torch.nn.Module, x: torch.Tensor, pool, stream: torch.cuda.Stream):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, stream=stream):  # expect: CG605
        y = net(x)
    return graph, y
