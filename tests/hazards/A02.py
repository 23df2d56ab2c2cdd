import torch


def build(width: int):
    scale = torch.full((width,), 2.0, device="cuda")  # expect: CG103
    x = torch.zeros(width, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * scale
    return graph, x, y
