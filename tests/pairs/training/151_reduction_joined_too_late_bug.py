"""Gradients are reduced on a communication stream while backward goes on. The stream is joined by the optimizer
wrapper, which runs after the capture has ended."""

import torch
import torch.distributed as dist
from torch import nn


class Buckets:
    def __init__(self, params):
        self.params = list(params)
        self.stream = torch.cuda.Stream()

    def reduce(self):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):  # HAZARD: stream-escape
            for p in self.params:
                dist.all_reduce(p.grad)

    def finish(self):
        torch.cuda.current_stream().wait_stream(self.stream)


class Model:
    def __init__(self, net, shape):
        self.net, self.buckets = net, Buckets(net.parameters())
        self.x = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def forward_backward(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.buckets.reduce()
        return loss

    def warm_up(self, count=3):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(count):
                self.forward_backward()
                self.buckets.finish()
        torch.cuda.current_stream().wait_stream(side)

    def capture(self):
        self.warm_up()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):  # ALT: stream-escape
            self.loss = self.forward_backward()


class Optimizer:
    def __init__(self, model):
        self.model = model
        self.inner = torch.optim.SGD(model.net.parameters(), lr=0.1)

    def step(self):
        self.model.buckets.finish()
        self.inner.step()


def main(loader):
    model = Model(nn.Linear(8, 8).cuda(), (4, 8))
    model.capture()
    opt = Optimizer(model)
    for x in loader:
        model.x.copy_(x)
        model.graph.replay()
        opt.step()
