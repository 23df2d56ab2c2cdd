"""Source: the gradient-accumulation loop of AlmondGod/tinyworlds#12, written with a captured micro-batch.

Fixed: the generator hands out a copy.
"""

import torch
from torch import nn


class MicroBatchGraph:
    def __init__(self, net: nn.Module, batch, d):
        self.net = net.cuda()
        self.x = torch.zeros(batch, d, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        for p in self.net.parameters():
            p.grad = torch.zeros_like(p)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._backward()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._backward()
        self.clear()

    def _backward(self):
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss.detach()

    def clear(self):
        for p in self.net.parameters():
            p.grad.zero_()

    def replays(self, micro_batches):
        for x in micro_batches:
            self.x.copy_(x)
            self.graph.replay()
            yield self.loss.clone()


def train(net, windows, d):
    step = MicroBatchGraph(net, 16, d)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for i, window in enumerate(windows):
        losses = list(step.replays(window))
        opt.step()
        step.clear()
        if i % 10 == 0:
            print(i, torch.stack(losses).mean().item())
