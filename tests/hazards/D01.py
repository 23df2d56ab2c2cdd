import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        self.wide = False
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2 if self.wide else self.x  # expect: CG402

    def step(self, x, wide: bool):
        self.wide = wide
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
