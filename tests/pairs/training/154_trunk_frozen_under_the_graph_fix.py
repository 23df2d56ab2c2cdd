"""After some epochs the trunk is to be frozen by `requires_grad_(False)`. The captured step goes on computing and
applying its gradients."""

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.trunk(x))


class FreezeAt:
    def __init__(self, epoch):
        self.epoch = epoch

    def __call__(self, trainer, epoch):
        if epoch == self.epoch:
            for p in trainer.net.trunk.parameters():
                p.requires_grad_(False)
            trainer.graph = None


class Trainer:
    def __init__(self, net, shape, callbacks=()):
        self.net, self.callbacks = net, list(callbacks)
        self.x = torch.zeros(shape, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.graph = None

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()

    def _capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._step()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            for callback in self.callbacks:
                callback(self, epoch)
            for x in loader:
                self.x.copy_(x)
                if self.graph is None:
                    self._capture()
                self.graph.replay()


def main(loader, epochs):
    Trainer(Network(16).cuda(), (8, 16), [FreezeAt(10)]).fit(loader, epochs)
