"""Clean: the moving average of the weights is updated inside the captured step and exchanged in place
outside it."""

import contextlib

import torch
from torch import nn


class Average:
    def __init__(self, params, decay):
        self.params = list(params)
        self.shadow = [p.detach().clone() for p in self.params]
        self.backup = [torch.empty_like(p) for p in self.params]
        self.decay = decay

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.shadow, self.params, 1.0 - self.decay)

    @contextlib.contextmanager
    def applied(self):
        with torch.no_grad():
            for kept, p, mean in zip(self.backup, self.params, self.shadow, strict=True):
                kept.copy_(p)
                p.copy_(mean)
        try:
            yield
        finally:
            with torch.no_grad():
                for kept, p in zip(self.backup, self.params, strict=True):
                    p.copy_(kept)


class Run:
    def __init__(self, net, x):
        self.net, self.x = net, x.clone()
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        self.average = Average(net.parameters(), 0.99)
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        self.average.update()
        return loss

    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def fit(self, loader, held_out):
        self.capture()
        for i, x in enumerate(loader):
            self.x.copy_(x)
            self.graph.replay()
            if i % 100 == 0:
                with self.average.applied(), torch.no_grad():
                    print(self.net(held_out).mean().item())


def main(loader, held_out):
    Run(nn.Linear(8, 8).cuda(), torch.zeros(4, 8, device="cuda")).fit(loader, held_out)
