"""A hand-written multi-tensor update builds its table of addresses as a tensor in every step; in the capture that
is a copy from pageable memory."""

import torch
from torch import nn


def apply_kernel(table, sizes, rate):
    return table.to(torch.float32).sum() * sizes.sum() * rate


class PointerTables:
    def __init__(self, params):
        self.params = params
        for p in params:
            p.grad = torch.zeros_like(p)
        rows = [[p.data_ptr(), p.grad.data_ptr()] for p in params]
        self.table = torch.tensor(rows, dtype=torch.int64, device="cuda")
        self.sizes = torch.tensor([p.numel() for p in params], device="cuda")

    def build(self):
        return self.table, self.sizes


class MultiTensorSGD:
    def __init__(self, net, rate):
        self.params, self.rate = list(net.parameters()), rate
        self.tables = PointerTables(self.params)

    def step(self):
        table, sizes = self.tables.build()
        return apply_kernel(table, sizes, self.rate)


class Captured:
    def __init__(self, net, shape):
        self.net, self.opt = net, MultiTensorSGD(net, 0.1)
        self.x = torch.zeros(shape, device="cuda")

    def _step(self):
        for p in self.net.parameters():
            p.grad.zero_()
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()


def main():
    run = Captured(nn.Linear(16, 16).cuda(), (4, 16))
    run.record()
    return run
