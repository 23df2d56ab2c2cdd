"""Input noise is drawn on the device."""

import torch
from torch import nn


class Augment:
    def __init__(self, sigma):
        self.sigma = sigma

    def __call__(self, x):
        return x + self.sigma * torch.randn_like(x)


class Task:
    def __init__(self, net, shape):
        self.net, self.augment = net, Augment(0.1)
        self.x = torch.zeros(shape, device="cuda")

    def step(self):
        self.net.zero_grad(set_to_none=True)
        loss = (self.net(self.augment(self.x)) - self.x).square().mean()
        loss.backward()
        return loss

    def build(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()


def main():
    task = Task(nn.Linear(16, 16).cuda(), (8, 16))
    task.build()
    return task
