"""The loss is compiled, and the warm-up runs the compiled function too."""

import torch
from torch import nn


def smooth_l1(pred, target, beta=1.0):
    diff = (pred - target).abs()
    return torch.where(diff < beta, 0.5 * diff * diff / beta, diff - 0.5 * beta).mean()


class Losses:
    def __init__(self, compiled):
        self.plain = smooth_l1
        self.fast = torch.compile(smooth_l1) if compiled else smooth_l1

    def get(self, warm):
        return self.plain if warm else self.fast


class Fit:
    def __init__(self, net, n, dim):
        self.net, self.losses = net, Losses(compiled=True)
        self.x = torch.zeros(n, dim, device="cuda")
        self.y = torch.zeros(n, dim, device="cuda")

    def step(self, warm=False):
        self.net.zero_grad(set_to_none=True)
        loss = self.losses.get(warm)(self.net(self.x), self.y)
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


def main():
    fit = Fit(nn.Linear(8, 8).cuda(), 16, 8)
    fit.capture()
    return fit
