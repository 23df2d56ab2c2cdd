"""A server that keeps books on the host."""

import torch


class Server:
    def __init__(self, vocabulary: int):
        self.scores = torch.zeros(vocabulary, device="cuda")
        self.banned = torch.zeros(vocabulary)
        self.bias = torch.zeros(vocabulary, pin_memory=True)
        self.served = torch.zeros((), dtype=torch.int64)
        self.tried = torch.zeros((), dtype=torch.int64)
        self.shown = torch.zeros((), dtype=torch.int64)
        self.peak = torch.zeros(2)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.bias.copy_(self.banned * -1e4)  # expect: CG407
            best = self.scores + self.bias.to("cuda", non_blocking=True)
            self.token = best.argmax(-1)
            self.served += 1  # expect: CG407
            self.peak[0].add_(2)  # expect: CG407
            self.tried.add_(1)  # ok: CG407
            self.shown += 1  # ok: CG407

    def ban(self, token: int):
        self.banned[token] = 1

    def step(self, scores: torch.Tensor):
        self.scores.copy_(scores)
        self.graph.replay()
        return self.token.clone()

    def report(self):
        return int(self.served), self.peak.tolist()

    def clear(self):
        self.shown.zero_()

    def show(self):
        return self.shown.item()


class Careful:
    """The books are kept where the graph is replayed."""

    def __init__(self, vocabulary: int):
        self.scores = torch.zeros(vocabulary, device="cuda")
        self.served = torch.zeros((), dtype=torch.int64)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.token = self.scores.argmax(-1)

    def step(self, scores: torch.Tensor):
        self.scores.copy_(scores)
        self.graph.replay()
        self.served += 1  # ok: CG407
        return self.token.clone()

    def report(self):
        return int(self.served)
