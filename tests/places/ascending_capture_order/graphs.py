"""Graphs by batch size, in one pool."""

import torch


class GraphTable:
    def __init__(self, net: torch.nn.Module, limit: int):
        self.net = net
        self.x = torch.zeros(limit, 64, device="cuda")
        self.pool = torch.cuda.graph_pool_handle()
        self.graphs = {}

    def record(self, size: int):
        rows = self.x[:size]
        self.net(rows)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self.net(rows)
        self.graphs[size] = (graph, out)

    def run(self, x: torch.Tensor):
        graph, out = self.graphs[x.shape[0]]
        self.x[: x.shape[0]].copy_(x)
        graph.replay()
        return out.clone()
