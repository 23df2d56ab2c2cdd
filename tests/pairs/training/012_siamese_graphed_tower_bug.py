"""Both views of a contrastive pair go through one graphed tower before the backward; the second call
overwrites the output and the saved activations of the first."""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=-1)


def contrastive(a, b, temperature=0.1):
    logits = a @ b.t() / temperature
    target = torch.arange(a.shape[0], device=a.device)
    return nn.functional.cross_entropy(logits, target)


class Contrastive:
    def __init__(self, width, batch):
        tower = Tower(width).cuda()
        sample = torch.randn(batch, width, device="cuda")
        self.tower = torch.cuda.make_graphed_callables(tower, (sample,))
        self.opt = torch.optim.SGD(tower.parameters(), lr=0.1)

    def step(self, first, second):
        self.opt.zero_grad(set_to_none=True)
        a = self.tower(first)  # ALT: stale-output
        b = self.tower(second)  # HAZARD: stale-output
        loss = contrastive(a, b)
        loss.backward()
        self.opt.step()
        return loss.detach()


def main(loader):
    model = Contrastive(128, 256)
    for first, second in loader:
        model.step(first.cuda(), second.cuda())
