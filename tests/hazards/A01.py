import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def step(self, x: torch.Tensor):
        self.x = x.cuda()  # expect: CG101
        self.graph.replay()
        return self.y.clone()
