"""Source: deepspeedai/DeepSpeed (optimizer on the host) with a captured backward that copies gradients out.

Fixed: an event recorded after the replay is waited for.
"""

import torch
from torch import nn


class HostAdam:
    def __init__(self, params, lr=1e-3):
        self.params = list(params)
        self.master = [p.detach().cpu().clone() for p in self.params]
        self.grads = [torch.zeros_like(m).pin_memory() for m in self.master]
        self.momentum = [torch.zeros_like(m) for m in self.master]
        self.lr = lr

    def fetch(self):
        for host, p in zip(self.grads, self.params):
            host.copy_(p.grad, non_blocking=True)

    @torch.no_grad()
    def step(self):
        for master, grad, buf, p in zip(self.master, self.grads, self.momentum, self.params):
            buf.mul_(0.9).add_(grad)
            master.sub_(buf, alpha=self.lr)
            p.copy_(master)


class Offloaded:
    def __init__(self, net: nn.Module, batch, d):
        self.net = net.cuda()
        self.opt = HostAdam(self.net.parameters())
        self.x = torch.zeros(batch, d, device="cuda")
        self.done = torch.cuda.Event()

    def body(self):
        self.net.zero_grad(set_to_none=True)
        self.net(self.x).square().mean().backward()
        self.opt.fetch()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.body()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.body()

    def train(self, loader):
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()
            self.done.record()
            self.done.synchronize()
            self.opt.step()
