"""Which sizes are captured."""

import torch


def capture_one(net, size, pool):
    x = torch.zeros(size, 8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):  # expect: CG607
        y = net(x)
    return graph, x, y
