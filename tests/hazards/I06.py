import torch


class Counting:
    def __init__(self, rows: int):
        self.seen = torch.empty(rows, device="cuda")
        self.ready = False

    def __call__(self, x):
        if not self.ready:
            self.seen.zero_()  # expect: CG403
            self.ready = True
        self.seen += 1
        return x / self.seen


def record(count: Counting, rows: int):
    x = torch.zeros(rows, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = count(x)
    graph.replay()
    graph.replay()
    return graph, x, y
