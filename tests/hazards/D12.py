import torch


class Rotary:
    def __init__(self):
        self.angles = None

    def __call__(self, x):
        if self.angles is None:
            self.angles = torch.arange(8, device="cuda") * 0.1  # expect: CG603
        return x * self.angles


def record(x: torch.Tensor):
    rotary = Rotary()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = rotary(x)
    return graph, rotary, x, y
