"""Validation switches the model to eval mode and runs it eagerly; the graph was captured in training
mode."""

import torch
from torch import nn


class Predictor:
    def __init__(self, dim, classes):
        self.net = nn.Sequential(
            nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, classes)
        ).cuda()
        self.x = torch.zeros(128, dim, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def capture(self):
        self.net.train()
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.net(self.x)
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.logits = self.net(self.x)

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.logits


def evaluate(predictor, loader):
    predictor.net.eval()
    hits = 0
    for x, y in loader:
        hits += (predictor.net(x.cuda()).argmax(-1) == y.cuda()).sum().item()
    return hits


def main(batches, held_out):
    predictor = Predictor(32, 10)
    predictor.capture()
    votes = [predictor.run(x).softmax(-1).cpu() for x in batches]
    return votes, evaluate(predictor, held_out)
