"""Two phases in one pool."""

import torch


class Phases:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.pool = torch.cuda.graph_pool_handle()
        self.first, self.second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.first, pool=self.pool):
            self.a = torch.tanh(self.x * 2)
        with torch.cuda.graph(self.second, pool=self.pool):
            self.b = torch.tanh(self.x * 3)

    def run_first(self):
        self.first.replay()
        return self.a

    def run_second(self):
        self.second.replay()
        return self.b
