import torch


def build(x: torch.Tensor):
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = torch.dropout(x, 0.1, True)
    except RuntimeError:  # expect: CG508
        graph, y = None, torch.dropout(x, 0.1, True)
    return graph, y
