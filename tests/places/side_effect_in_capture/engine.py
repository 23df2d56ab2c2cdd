"""An engine that keeps books in its captured step."""

import torch
from statistics_ import Statistics


class Engine:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.steps = 0
        self.statistics = Statistics()
        self.x = torch.zeros(8, 8, device="cuda")
        self.tokens = torch.zeros((), device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        self.steps += 1  # expect: CG403
        self.statistics.count()
        self.tokens += 1  # ok: CG403
        return self.net(self.x)

    def __call__(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        print(self.steps, self.statistics.calls / self.steps)
        return self.y.clone()
