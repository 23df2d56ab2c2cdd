"""Numbers that captured code takes from tensors on the host."""

import torch


class Router:
    def __init__(self, width: int):
        self.capacity = torch.tensor(64)
        self.lengths = torch.zeros(4, dtype=torch.long)
        self.limit = torch.tensor(3)
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            routed = self.x * float(self.capacity.item())  # ok: CG402
            masked = self.x * self.lengths.max().item()  # expect: CG402
            self.y = routed + masked + self.x * self.limit.item()  # expect: CG402

    def step(self, x: torch.Tensor, length: int):
        self.x.copy_(x)
        self.lengths[0] = length
        self.limit = torch.tensor(length)
        self.graph.replay()
        return self.y.clone()
