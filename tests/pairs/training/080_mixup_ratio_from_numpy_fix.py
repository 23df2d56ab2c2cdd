"""The mixing ratio of the augmentation is drawn on the host before each replay and written into a device
tensor."""

import numpy as np
import torch
from torch import nn


class Mixup:
    def __init__(self, alpha):
        self.alpha = alpha
        self.ratio = torch.ones((), device="cuda")

    def draw(self):
        self.ratio.fill_(float(np.random.beta(self.alpha, self.alpha)))

    def __call__(self, x):
        return x * self.ratio + x.flip(0) * (1.0 - self.ratio)


class Job:
    def __init__(self, net, shape):
        self.net, self.mix = net, Mixup(0.2)
        self.x = torch.zeros(shape, device="cuda")

    def step(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.mix(self.x)).square().mean()
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()


def main(loader):
    job = Job(nn.Linear(8, 8).cuda(), (4, 8))
    job.capture()
    for x in loader:
        job.x.copy_(x)
        job.mix.draw()
        job.graph.replay()
