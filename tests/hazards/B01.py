import torch


def run(x: torch.Tensor, steps: int):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    kept = []
    for _ in range(steps):
        graph.replay()
        kept.append(y)  # expect: CG201
    return torch.stack(kept)
