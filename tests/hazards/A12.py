import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        self.space = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * self.space[0]

    def ensure(self, size: int):
        if self.space.numel() < size:
            self.space = torch.zeros(size, device="cuda")  # expect: CG101

    def step(self, x, size: int):
        self.ensure(size)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
