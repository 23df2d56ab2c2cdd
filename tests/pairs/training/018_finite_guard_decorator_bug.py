"""A debugging decorator checks what every loss function returns and raises on a NaN: a branch on a device
value that is reached from the captured step."""

import functools

import torch
from torch import nn


def finite(name):
    def decorate(fn):
        @functools.wraps(fn)
        def checked(*args, **kwargs):
            value = fn(*args, **kwargs)
            bad = ~torch.isfinite(value)
            if bad.any():  # HAZARD: host-branch-on-device
                raise FloatingPointError(f"{name} is not finite")
            return value

        return checked

    return decorate


@finite("pressure residual")
def residual_loss(field, source):
    return (field - source).square().mean()


class PinnStep:
    def __init__(self, net, points):
        self.net = net
        self.points = torch.zeros(points, 2, device="cuda")
        self.source = torch.zeros(points, 1, device="cuda")

    def __call__(self):
        self.net.zero_grad(set_to_none=True)
        loss = residual_loss(self.net(self.points), self.source)
        loss.backward()
        return loss


def record(step):
    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for _ in range(11):
            step()
    torch.cuda.current_stream().wait_stream(s)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return graph, loss


def main():
    step = PinnStep(nn.Linear(2, 1).cuda(), 512)
    return step, record(step)
