"""Weights with and without decay are two parameter groups; only one of the groups says that it can be
captured, and step() refuses the other. (Seen in pytorch/pytorch#94149.)"""

import torch
from torch import nn


def split_parameters(net, decay):
    matrices = [p for p in net.parameters() if p.ndim >= 2]
    vectors = [p for p in net.parameters() if p.ndim < 2]
    return [
        {"params": matrices, "weight_decay": decay, "capturable": True},
        {"params": vectors, "weight_decay": 0.0, "capturable": True},
    ]


class Builder:
    def __init__(self, lr, decay):
        self.lr, self.decay = lr, decay

    def build(self, net):
        return torch.optim.AdamW(split_parameters(net, self.decay), lr=self.lr)


class Runner:
    def __init__(self, net, builder, shape):
        self.net = net
        self.opt = builder.build(net)
        self.x = torch.zeros(shape, device="cuda")

    def iteration(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.iteration()

    def run(self, loader):
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()


def main(loader):
    runner = Runner(nn.Linear(8, 8).cuda(), Builder(1e-3, 0.1), (4, 8))
    runner.capture()
    runner.run(loader)
