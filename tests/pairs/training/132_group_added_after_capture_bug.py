"""Fine-tuning unfreezes one stage after the other. The new parameters become a group of the optimizer, whose
captured step does not know them."""

import torch
from torch import nn


class Staged(nn.Module):
    def __init__(self, width, stages):
        super().__init__()
        self.stages = nn.ModuleList(nn.Linear(width, width) for _ in range(stages))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        for stage in self.stages:
            x = torch.relu(stage(x))
        return self.head(x)


class Unfreezer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
        self.left = list(net.stages)

    def __call__(self, rate):
        if self.left:
            stage = self.left.pop()
            stage.requires_grad_(True)
            self.optimizer.add_param_group(
                {"params": list(stage.parameters()), "lr": rate}
            )  # HAZARD: training


class Tuning:
    def __init__(self, net, batch, width):
        self.net = net
        self.net.stages.requires_grad_(False)
        self.opt = torch.optim.SGD(net.head.parameters(), lr=0.1)
        self.x, self.y = torch.zeros(batch, width, device="cuda"), torch.zeros(batch, 1, device="cuda")
        self.unfreeze = Unfreezer(net, self.opt)
        self.graph = None

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = (self.net(self.x) - self.y).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def _record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def epoch(self, loader):
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            if self.graph is None:
                self._record()
            self.graph.replay()


def main(loader, epochs):
    tuning = Tuning(Staged(32, 4).cuda(), 16, 32)
    for epoch in range(epochs):
        tuning.epoch(loader)
        tuning.unfreeze(0.01 / (epoch + 1))
