"""A diffusion trainer keeps its noise levels in a NumPy array and takes the entry of the current level, a field that
the loop sets, inside the captured step."""

import numpy as np
import torch
from torch import nn


class Levels:
    def __init__(self, count, low=1e-3, high=1.0):
        self.sigma = np.geomspace(low, high, count)
        self.current = torch.zeros((), device="cuda")
        self.current.fill_(float(self.sigma[0]))

    def __len__(self):
        return len(self.sigma)

    def select(self, index):
        self.current.fill_(float(self.sigma[index]))

    @property
    def value(self):
        return self.current


class Denoise:
    def __init__(self, net, levels, shape):
        self.net, self.levels = net, levels
        self.x = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self):
        self.net.zero_grad(set_to_none=True)
        noise = torch.randn_like(self.x)
        loss = (self.net(self.x + self.levels.value * noise) - noise).square().mean()
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def train(self, loader):
        opt = torch.optim.SGD(self.net.parameters(), lr=0.01)
        for index, x in enumerate(loader):
            self.levels.select(index % len(self.levels))
            self.x.copy_(x)
            self.graph.replay()
            opt.step()


def main(loader):
    run = Denoise(nn.Linear(16, 16).cuda(), Levels(10), (8, 16))
    run.capture()
    run.train(loader)
