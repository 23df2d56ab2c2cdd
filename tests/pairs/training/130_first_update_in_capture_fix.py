"""The warm-up computes gradients only, to leave the weights alone; the first optimizer step, which makes the
optimizer's state, happens inside the capture and is repeated by every replay."""

import torch
from torch import nn


class Objective:
    def __init__(self, net, shape):
        self.net = net
        self.x = torch.zeros(shape, device="cuda")

    def gradients(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss


class Fused:
    def __init__(self, objective, lr=1e-3):
        self.objective = objective
        self.opt = torch.optim.AdamW(objective.net.parameters(), lr=lr, capturable=True)
        self.graph = torch.cuda.CUDAGraph()

    def _both(self):
        loss = self.objective.gradients()
        self.opt.step()
        return loss

    def build(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._both()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._both()

    def train(self, loader):
        for x in loader:
            self.objective.x.copy_(x)
            self.graph.replay()


def main(loader):
    fused = Fused(Objective(nn.Linear(8, 8).cuda(), (4, 8)))
    fused.build()
    fused.train(loader)
