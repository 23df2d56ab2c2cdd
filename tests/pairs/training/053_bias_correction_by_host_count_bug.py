"""A home-made Adam counts its steps on the host; in replays the count, and with it the bias correction,
stays where it was at the capture."""

import torch
from torch import nn


class SmallAdam:
    def __init__(self, params, lr=1e-3, b1=0.9, b2=0.999):
        self.params = list(params)
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]
        self.lr, self.b1, self.b2 = lr, b1, b2
        self.t = 0

    @torch.no_grad()
    def step(self):
        self.t += 1  # HAZARD: side-effect, frozen-scalar
        c1 = 1.0 - self.b1**self.t
        c2 = 1.0 - self.b2**self.t
        for p, m, v in zip(self.params, self.m, self.v, strict=False):
            m.lerp_(p.grad, 1.0 - self.b1)
            v.mul_(self.b2).addcmul_(p.grad, p.grad, value=1.0 - self.b2)
            p.sub_(self.lr * (m / c1) / ((v / c2).sqrt() + 1e-8))  # ALT: frozen-scalar


def record(net, x, opt):
    def step():
        net.zero_grad(set_to_none=True)
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return graph, loss


def train(loader):
    net = nn.Linear(8, 8).cuda()
    x = torch.zeros(4, 8, device="cuda")
    opt = SmallAdam(net.parameters())
    graph, loss = record(net, x, opt)
    for batch in loader:
        x.copy_(batch)
        graph.replay()
    return loss.item(), opt.t
