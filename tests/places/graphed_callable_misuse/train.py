"""Loops over graphed callables."""

import torch
from torch import nn
from tower import Tower


def contrastive(batches):
    tower = Tower(8)
    for anchor in batches:
        tower.embed(anchor).mean().backward()
        tower.embed_by_position(anchor).mean().backward()


class Siamese:
    def __init__(self, width: int):
        sample = torch.zeros(8, width, device="cuda")
        self.net = torch.cuda.make_graphed_callables(nn.Linear(width, width).cuda(), (sample,))

    def step(self, left: torch.Tensor, right: torch.Tensor):
        one = self.net(left)  # expect: CG201
        two = self.net(right)  # expect: CG807
        (one.mean() + two.mean()).backward()


class InTurn:
    def __init__(self, width: int):
        sample = torch.zeros(8, width, device="cuda")
        self.net = torch.cuda.make_graphed_callables(nn.Linear(width, width).cuda(), (sample,))

    def step(self, left: torch.Tensor, right: torch.Tensor):
        self.net(left).mean().backward()
        self.net(right).mean().backward()  # ok: CG807

    def evaluate(self, batches):
        with torch.no_grad():
            return [self.net(batch).argmax().item() for batch in batches]  # ok: CG807


class Pair:
    """One graphed callable for each side."""

    def __init__(self, width: int):
        sample = torch.zeros(8, width, device="cuda")
        nets = (nn.Linear(width, width).cuda(), nn.Linear(width, width).cuda())
        self.left, self.right = torch.cuda.make_graphed_callables(nets, ((sample,), (sample,)))

    def step(self, left: torch.Tensor, right: torch.Tensor):
        one = self.left(left)
        two = self.right(right)  # ok: CG807
        (one.mean() + two.mean()).backward()
