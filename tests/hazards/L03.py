import torch


class Runner:
    def __init__(self):
        self.adapted = False
        self.graphs = {}
        self.x = torch.zeros(64, device="cuda")

    def capture(self, size: int):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.x[:size] * 2 if self.adapted else self.x[:size] * 3  # expect: CG402
        self.graphs[size] = (graph, y)

    def run(self, size: int, adapted: bool):
        self.adapted = adapted
        graph, y = self.graphs[size]
        graph.replay()
        return y.clone()
