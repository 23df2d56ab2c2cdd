import torch


@torch.compile(mode="reduce-overhead")
def double(x):
    return x * 2


def record(x: torch.Tensor):
    double(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = double(x)  # expect: CG702
    return graph, y
