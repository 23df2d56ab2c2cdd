"""Source: gradient averaging by hand after a captured backward (PyTorch forum question on frozen training).

Symptom: from the second step on the optimizer sees the gradients of the first: averaging over the workers binds .grad to a new
tensor, and the replayed backward writes the old one.
"""

import torch
import torch.distributed as dist
from torch import nn


class GradientAverager:
    def __init__(self, params):
        self.params = [p for p in params if p.requires_grad]

    def __call__(self):
        world = dist.get_world_size()
        for p in self.params:
            if p.grad is None:
                continue
            dist.all_reduce(p.grad)
            p.grad = p.grad / world  # HAZARD: stale-pointer


class CapturedBackward:
    def __init__(self, net: nn.Module, batch, d, after=()):
        self.net, self.after = net.cuda(), list(after)
        self.x = torch.zeros(batch, d, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._run()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._run()

    def _run(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).abs().mean()
        loss.backward()
        return loss

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        for callback in self.after:
            callback()
        return self.loss


def train(net, loader):
    backward = CapturedBackward(net, 16, 32, after=[GradientAverager(net.parameters())])
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        backward(x)
        opt.step()
