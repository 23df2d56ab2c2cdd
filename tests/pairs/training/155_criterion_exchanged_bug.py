"""The second phase of training has another criterion. It is assigned to the trainer, but the captured step called
the first one."""

import torch
from torch import nn


class Huber:
    def __init__(self, delta):
        self.delta = delta

    def __call__(self, pred, target):
        return nn.functional.huber_loss(pred, target, delta=self.delta)


def quantile(pred, target, q=0.9):
    error = target - pred
    return torch.maximum(q * error, (q - 1.0) * error).mean()


class Forecaster(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self, net, batch, width, criterion):
        self.net, self.criterion = net, criterion
        self.x, self.y = torch.zeros(batch, width, device="cuda"), torch.zeros(batch, 1, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.01)
        self.graph = None

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.criterion(self.net(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def _record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def run(self, loader):
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            if self.graph is None:
                self._record()
            self.graph.replay()

    def phase(self, criterion):
        self.criterion = criterion  # HAZARD: frozen-scalar, rebind-static-input


def main(first, second):
    trainer = Trainer(Forecaster(8).cuda(), 32, 8, Huber(1.0))
    trainer.run(first)
    trainer.phase(quantile)
    trainer.run(second)
