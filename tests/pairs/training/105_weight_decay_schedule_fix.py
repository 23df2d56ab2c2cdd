"""Self-supervised training raises the weight decay along a cosine. The schedule writes the number into the
parameter groups, the captured update keeps the first one. (Seen in microsoft/dion#108.)"""

import math

import torch
from torch import nn


class CosineValue:
    def __init__(self, start, end, steps):
        self.start, self.end, self.steps = start, end, steps

    def __getitem__(self, step):
        share = min(step, self.steps) / self.steps
        return self.end + 0.5 * (self.start - self.end) * (1.0 + math.cos(math.pi * share))


class GroupSchedule:
    def __init__(self, optimizer, **values):
        self.optimizer, self.values, self.at = optimizer, values, 0
        self.tensors = {name: torch.zeros((), device="cuda") for name in values}

    def step(self):
        for name, value in self.values.items():
            self.tensors[name].fill_(value[self.at])
        self.at += 1


class GraphedUpdate:
    """The gradients come from eager code; the update is one graph."""

    def __init__(self, optimizer, rate, decay):
        self.optimizer, self.rate, self.decay, self.graph = optimizer, rate, decay, None

    def _update(self):
        with torch.no_grad():
            for group in self.optimizer.param_groups:
                for p in group["params"]:
                    p.mul_(1.0 - self.rate * self.decay)
        self.optimizer.step()

    def _capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.optimizer.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._update()

    def step(self):
        if self.graph is None:
            self._capture()
        self.graph.replay()


def train(net, loader, total):
    rate = torch.tensor(1e-3, device="cuda")
    opt = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=0.0, capturable=True)
    schedule = GroupSchedule(opt, weight_decay=CosineValue(0.04, 0.4, total))
    update = GraphedUpdate(opt, rate, schedule.tensors["weight_decay"])
    for x in loader:
        schedule.step()
        net(x.cuda()).square().mean().backward()
        update.step()
        opt.zero_grad(set_to_none=False)


def main(loader):
    train(nn.Linear(8, 8).cuda(), loader, 1000)
