import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        self.cache = {"keys": torch.zeros(8, device="cuda")}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * self.cache["keys"]

    def sleep(self):
        self.cache.clear()

    def wake(self):
        self.cache["keys"] = torch.zeros(8, device="cuda")  # expect: CG101

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
