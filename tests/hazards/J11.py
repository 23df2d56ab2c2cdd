import torch
import transformer_engine.pytorch as te


class Trainer:
    def __init__(self):
        self.layer = te.Linear(64, 64)
        self.x = torch.zeros(16, 64, device="cuda")
        self.first = True
        self.layer(self.x, is_first_microbatch=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x, is_first_microbatch=self.first)  # expect: CG402

    def step(self, x, index: int):
        self.first = index == 0
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
