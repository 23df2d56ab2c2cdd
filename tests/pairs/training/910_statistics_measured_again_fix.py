"""Drawn from recalibration of batch norm before validation (compare torch.optim.swa_utils.update_bn rewrites).

Fixed: the buffers are reset in place.
"""

from __future__ import annotations

import torch
from torch import nn


def batch_norms(model: nn.Module) -> list[nn.BatchNorm1d]:
    return [m for m in model.modules() if isinstance(m, nn.BatchNorm1d)]


@torch.no_grad()
def recalibrate(model: nn.Module, loader, batches: int = 50) -> None:
    norms = batch_norms(model)
    momenta = [m.momentum for m in norms]
    for m in norms:
        m.running_mean.zero_()
        m.running_var.fill_(1.0)
        m.momentum = 0.1
    model.train()
    for number, (x, _) in enumerate(loader):
        if number == batches:
            break
        model(x.cuda())
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum


class Classifier(nn.Module):
    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        return self.out(torch.relu(self.norm(self.hidden(x))))


class Loop:
    def __init__(self, width: int, classes: int, size: int) -> None:
        self.model = Classifier(width, classes).cuda()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.x = torch.randn(size, width, device="cuda")
        self.y = torch.zeros(size, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss.detach()

    def epoch(self, loader) -> float:
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
        return self.loss.item()


def main(train, valid, epochs: int = 20) -> None:
    loop = Loop(64, 10, 128)
    for _ in range(epochs):
        print(loop.epoch(train))
        recalibrate(loop.model, train)
        loop.model.eval()
        with torch.no_grad():
            hits = [(loop.model(x.cuda()).argmax(1) == y.cuda()).float().mean() for x, y in valid]
        loop.model.train()
        print(torch.stack(hits).mean().item())
