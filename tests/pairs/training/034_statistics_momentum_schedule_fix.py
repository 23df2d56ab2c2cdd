"""The momentum of all batch-norm layers decays with the epochs; it lives in a tensor that the captured code
reads."""

import torch
from torch import nn


class Normed(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 3, padding=1)
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("momentum", torch.full((), 0.1))

    def forward(self, x):
        x = self.conv(x)
        batch = x.mean((0, 2, 3))
        with torch.no_grad():
            self.mean.mul_(1.0 - self.momentum).add_(batch * self.momentum)
        return torch.relu(x - batch.view(1, -1, 1, 1))


class MomentumScheduler:
    def __init__(self, model, start=0.5, factor=0.7, floor=0.01):
        self.layers = [m for m in model.modules() if isinstance(m, Normed)]
        self.start, self.factor, self.floor = start, factor, floor

    def step(self, epoch):
        value = max(self.start * self.factor**epoch, self.floor)
        for layer in self.layers:
            layer.momentum.fill_(value)


class Fit:
    def __init__(self, model, size):
        self.model = model
        self.x = torch.zeros(8, 3, size, size, device="cuda")
        self.schedule = MomentumScheduler(model)
        self.graph = torch.cuda.CUDAGraph()

    def body(self):
        self.model.zero_grad(set_to_none=True)
        loss = self.model(self.x).mean()
        loss.backward()
        return loss

    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.body()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.loss = self.body()

    def run(self, loader, epochs):
        self.capture()
        opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for epoch in range(epochs):
            self.schedule.step(epoch)
            for x in loader:
                self.x.copy_(x)
                self.graph.replay()
                opt.step()


def main(loader):
    Fit(nn.Sequential(Normed(16)).cuda(), 32).run(loader, 10)
