import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        self.rounds = 3
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            y = self.x
            for _ in range(self.rounds):  # expect: CG402
                y = y * 2
            self.y = y

    def step(self, x, rounds: int):
        self.rounds = rounds
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
