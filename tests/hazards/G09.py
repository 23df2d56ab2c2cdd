import gc

import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        gc.collect()  # expect: CG405
        return self.x * 2

    def capture(self):
        self.run()
        with torch.cuda.graph(self.graph):
            self.y = self.run()
