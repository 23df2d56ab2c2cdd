"""The scheduler belongs to the step that is captured. Its `step()` is Python: it runs once, and the rate of the
captured update is a float."""

import torch
from torch import nn


class TrainState:
    def __init__(self, net, total):
        self.net = net
        rate = torch.tensor(0.1, device="cuda")
        self.opt = torch.optim.Adam(net.parameters(), lr=rate, capturable=True)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, total)

    def apply(self, loss):
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()


class Recorded:
    def __init__(self, state, shape):
        self.state = state
        self.x = torch.zeros(shape, device="cuda")
        self.graph = None

    def _body(self):
        loss = self.state.net(self.x).square().mean()
        self.state.apply(loss)
        return loss

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._body()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._body()

    def __call__(self, x):
        self.x.copy_(x)
        if self.graph is None:
            self.record()
        self.graph.replay()
        self.state.schedule.step()
        return self.loss.clone()


def main(loader, total=1000):
    step = Recorded(TrainState(nn.Linear(8, 8).cuda(), total), (4, 8))
    return [step(x) for x in loader]
