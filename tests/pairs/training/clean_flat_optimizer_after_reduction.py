"""Clean: data-parallel whole-iteration capture with an optimizer over flat buffers: parameters and gradients are
views made before the capture, the reduction runs on the captured stream, the rate is a device scalar."""

import math

import torch
import torch.distributed as dist
from torch import nn


class FlatSGD:
    def __init__(self, params, lr, momentum=0.9):
        self.params = list(params)
        total = sum(p.numel() for p in self.params)
        self.flat = torch.empty(total, device="cuda")
        self.grad = torch.zeros(total, device="cuda")
        self.buf = torch.zeros(total, device="cuda")
        self.lr = torch.full((), lr, device="cuda")
        self.momentum = momentum
        offset = 0
        for p in self.params:
            n = p.numel()
            self.flat[offset : offset + n].copy_(p.detach().flatten())
            p.data = self.flat[offset : offset + n].view_as(p)
            p.grad = self.grad[offset : offset + n].view_as(p)
            offset += n

    @torch.no_grad()
    def step(self):
        dist.all_reduce(self.grad, op=dist.ReduceOp.AVG)
        self.buf.mul_(self.momentum).add_(self.grad)
        self.flat.sub_(self.buf * self.lr)

    def zero_grad(self):
        self.grad.zero_()


class Job:
    def __init__(self, net: nn.Module, batch, d):
        self.net = net.cuda()
        self.opt = FlatSGD(self.net.parameters(), 0.1)
        self.x = torch.zeros(batch, d, device="cuda")
        self.y = torch.zeros(batch, device="cuda")

    def iteration(self):
        self.opt.zero_grad()
        loss = nn.functional.mse_loss(self.net(self.x).squeeze(-1), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(11):
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=side, capture_error_mode="thread_local"):
            self.loss = self.iteration()

    def fit(self, loader, total):
        self.capture()
        for i, (x, y) in enumerate(loader):
            self.x.copy_(x)
            self.y.copy_(y)
            self.opt.lr.fill_(0.05 * (1 + math.cos(math.pi * i / total)))
            self.graph.replay()
            if i % 200 == 0 and dist.get_rank() == 0:
                print(f"step {i} loss {self.loss.item():.5f}")
