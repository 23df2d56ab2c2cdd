"""An exponential mean of the loss balances two terms. It is a Python float that a callback refreshes from the
device after each step; the captured sum divides by the float of the capture."""

import torch
from torch import nn


class Mean:
    def __init__(self, start=1.0, momentum=0.9):
        self.value = torch.full((), start, device="cuda")
        self.momentum = momentum

    def update(self, number):
        self.value.mul_(self.momentum).add_(number, alpha=1.0 - self.momentum)


class Balanced:
    def __init__(self, net):
        self.net = net
        self.means = {"data": Mean(), "physics": Mean()}

    def terms(self, x, y):
        u = self.net(x)
        return {"data": (u - y).square().mean(), "physics": u.diff(dim=0).square().mean()}

    def combine(self, terms):
        total = 0.0
        for name, value in terms.items():
            total = total + value / self.means[name].value
        return total


class Graphed:
    def __init__(self, model, batch, width):
        self.model = model
        self.x, self.y = torch.zeros(batch, width, device="cuda"), torch.zeros(batch, 1, device="cuda")
        self.opt = torch.optim.SGD(model.net.parameters(), lr=0.01)
        self.callbacks = []
        self.graph = None

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        terms = self.model.terms(self.x, self.y)
        self.model.combine(terms).backward()
        self.opt.step()
        return {name: value.detach() for name, value in terms.items()}

    def _record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.terms = self._step()

    def train(self, loader):
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            if self.graph is None:
                self._record()
            self.graph.replay()
            for callback in self.callbacks:
                callback(self.terms)


def main(loader):
    model = Balanced(nn.Linear(2, 1).cuda())
    run = Graphed(model, 64, 2)
    run.callbacks.append(lambda terms: [model.means[k].update(v.item()) for k, v in terms.items()])
    run.train(loader)
