"""Gradients left by the warm-up are present at the capture: the recorded backward accumulates, so each
replay adds to the gradient of all replays before it."""

import torch
from torch import nn


class Regression(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, target):
        return nn.functional.mse_loss(self.layers(x).squeeze(-1), target)


class GraphTrainer:
    def __init__(self, model, n, features):
        self.model = model
        self.x = torch.randn(n, features, device="cuda")
        self.target = torch.randn(n, device="cuda")
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def warm_up(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.model(self.x, self.target).backward()
        torch.cuda.current_stream().wait_stream(side)

    def capture(self):
        self.warm_up()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.model(self.x, self.target)
            self.loss.backward()  # HAZARD: training

    def step(self, x, target):
        self.x.copy_(x)
        self.target.copy_(target)
        self.graph.replay()
        self.optimizer.step()


def main(batches):
    trainer = GraphTrainer(Regression(8).cuda(), 64, 8)
    trainer.capture()
    for x, target in batches:
        trainer.step(x, target)
