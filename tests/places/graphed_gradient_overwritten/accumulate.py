"""Gradients of several batches for one step."""

import torch
from torch import nn
from towers import backpropagate, backpropagate_anew, graphed_tower


def from_another_file(batches):
    tower = graphed_tower(16)
    optimizer = torch.optim.SGD(tower.parameters(), lr=0.1)
    for number, batch in enumerate(batches):
        backpropagate(tower, batch)
        if number % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def graphed_elsewhere(batches):
    tower = graphed_tower(32)
    optimizer = torch.optim.SGD(tower.parameters(), lr=0.1)
    for batch in batches:
        optimizer.zero_grad(set_to_none=False)
        tower(batch).mean().backward()  # expect: CG811
        optimizer.step()


def one_batch_a_step(batches):
    tower = graphed_tower(16)
    optimizer = torch.optim.SGD(tower.parameters(), lr=0.1)
    for batch in batches:
        backpropagate_anew(tower, batch)
        optimizer.step()


class Micro:
    def __init__(self, parts: int):
        self.parts = parts
        self.net = torch.compile(nn.Linear(32, 4).cuda(), mode="reduce-overhead")
        self.optimizer = torch.optim.AdamW(self.net.parameters())

    def step(self, batch: torch.Tensor):
        for part in batch.chunk(self.parts):
            self.net(part).mean().backward()  # expect: CG811
        self.optimizer.step()
        self.optimizer.zero_grad()

    def step_with_own_memory(self, batch: torch.Tensor):
        for parameter in self.net.parameters():
            parameter.grad = torch.zeros_like(parameter)
        for part in batch.chunk(self.parts):
            self.net(part).mean().backward()  # ok: CG811
        self.optimizer.step()
