"""Input noise is drawn with NumPy inside the step and copied to the device."""

import numpy as np
import torch
from torch import nn


class Augment:
    def __init__(self, sigma, seed=0):
        self.sigma = sigma
        self.rng = np.random.default_rng(seed)

    def __call__(self, x):
        noise = self.rng.standard_normal(tuple(x.shape)).astype("float32")  # ALT: side-effect
        return x + self.sigma * torch.from_numpy(noise).to(x.device)  # HAZARD: pageable-copy


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
