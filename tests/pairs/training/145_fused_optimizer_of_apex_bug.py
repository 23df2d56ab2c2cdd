"""The fused Adam of Apex counts its steps in Python unless it is told that it will be captured; replays use the
bias correction of the captured step for good. (Compare NVIDIA/apex#1560.)"""

import torch
from apex.optimizers import FusedAdam
from torch import nn


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x):
        return x + self.layers(x)


def build(kind, net, lr):
    if kind == "fused":
        return FusedAdam(net.parameters(), lr=lr, weight_decay=0.01)
    return torch.optim.SGD(net.parameters(), lr=lr)


class WholeStep:
    def __init__(self, net, optimizer, shape):
        self.net, self.optimizer = net, optimizer
        self.x = torch.zeros(shape, device="cuda")

    def _iteration(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.optimizer.step()  # HAZARD: training
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._iteration()

    def fit(self, loader):
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()


def main(loader):
    net = Encoder(64).cuda()
    step = WholeStep(net, build("fused", net, 1e-3), (8, 64))
    step.capture()
    step.fit(loader)
