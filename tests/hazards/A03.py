from dataclasses import dataclass

import torch


@dataclass
class Batch:
    lengths: torch.Tensor


class Runner:
    def __init__(self):
        self.batch = Batch(torch.ones(8, device="cuda"))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.batch.lengths * 2

    def step(self, lengths: torch.Tensor):
        self.batch = Batch(lengths.cuda())  # expect: CG101
        self.graph.replay()
        return self.y.clone()
