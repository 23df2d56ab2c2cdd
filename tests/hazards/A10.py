import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        self.weight = torch.ones(8, device="cuda")
        self.wide = self.weight.double()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * self.wide

    def reload(self, weight: torch.Tensor):
        self.weight.copy_(weight)
        self.wide = self.weight.double()  # expect: CG101

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
