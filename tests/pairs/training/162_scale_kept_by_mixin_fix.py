"""A mixin keeps a loss scale. When the gradients overflow, it halves the scale with a new tensor, while the
captured backward multiplies with the first."""

import torch
from torch import nn


class ScalesLoss:
    def setup_scale(self, start=2.0**16):
        self.scale = torch.tensor(start, device="cuda")
        self.good = 0

    def scaled(self, loss):
        return loss * self.scale

    def after_replay(self, params):
        total = torch.stack([p.grad.float().norm() for p in params]).norm()
        if not torch.isfinite(total):
            self.scale.div_(2.0).clamp_(min=1.0)
            self.good = 0
            return False
        self.good += 1
        if self.good == 2000:
            self.scale.mul_(2.0)
            self.good = 0
        return True


class BaseRunner:
    def __init__(self, net, shape):
        self.net, self.x = net, torch.zeros(shape, device="cuda")
        self.params = list(net.parameters())
        self.opt = torch.optim.SGD(self.params, lr=0.01)

    def grads(self):
        for p in self.params:
            p.grad = None
        loss = self.net(self.x).square().mean()
        self.scaled(loss).backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.grads()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.grads()


class HalfRunner(ScalesLoss, BaseRunner):
    def __init__(self, net, shape):
        super().__init__(net, shape)
        self.setup_scale()
        self.capture()

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        if self.after_replay(self.params):
            for p in self.params:
                p.grad.div_(self.scale)
            self.opt.step()


def main(loader):
    runner = HalfRunner(nn.Linear(8, 8).cuda(), (4, 8))
    for x in loader:
        runner.step(x)
