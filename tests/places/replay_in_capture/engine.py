"""A larger graph around the parts."""

import torch
from graphed import GraphedEncoder, Polite, lazily
from torch import nn


class Pipeline:
    def __init__(self):
        self.encoder = GraphedEncoder(nn.Linear(64, 64).cuda())
        self.polite = Polite(nn.Linear(64, 64).cuda())
        self.head = nn.Linear(64, 8).cuda()
        self.image = torch.zeros(1, 64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.head(self.image)
        with torch.cuda.graph(self.graph):
            self.scores = self.head(self.encoder(self.image) + self.polite(self.image))

    def run(self, image: torch.Tensor):
        self.image.copy_(image)
        self.graph.replay()  # ok: CG504
        return self.scores.clone()


class Nested:
    def __init__(self):
        self.net = nn.Linear(64, 64).cuda()
        self.x = torch.zeros(1, 64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.y = lazily(self.net, self.x, {})

    def run(self):
        self.graph.replay()  # ok: CG504
        return self.y.clone()


class Chained:
    """Two graphs, one after the other."""

    def __init__(self):
        self.net = nn.Linear(64, 64).cuda()
        self.x = torch.zeros(1, 64, device="cuda")
        self.first, self.second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.first):
            self.middle = self.net(self.x)
        with torch.cuda.graph(self.second):  # ok: CG504
            self.y = self.net(self.middle)

    def run(self):
        self.first.replay()  # ok: CG504
        self.second.replay()  # ok: CG504
        return self.y.clone()
