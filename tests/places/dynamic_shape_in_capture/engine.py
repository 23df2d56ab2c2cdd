"""A scheduler step in a graph."""

import torch
from batching import active, first_stop, masked, spread, spread_to


class Scheduler:
    def __init__(self, size: int):
        self.tokens = torch.zeros(size, dtype=torch.long, device="cuda")
        self.finished = torch.zeros(size, dtype=torch.bool, device="cuda")
        self.counts = torch.ones(size, dtype=torch.long, device="cuda")
        self.size = size
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.out = self.step()

    def step(self):
        kept = active(self.tokens, self.finished)
        stops = first_stop(self.tokens, 2)
        filled = masked(self.tokens, self.finished)
        rows = spread(filled, self.counts)
        fixed = spread_to(filled, self.counts, self.size)
        self.tokens[self.finished] = 0  # ok: CG305
        self.tokens.masked_fill_(self.finished, 0)  # ok: CG305
        return kept, stops, rows, fixed

    def compact(self):
        self.graph.replay()
        return self.tokens[~self.finished]  # ok: CG305
