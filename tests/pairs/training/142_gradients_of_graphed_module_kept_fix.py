"""The gradients of several tasks are compared with each other. They come from the backward of one graphed module,
which hands out the same buffers each time. (Seen in pytorch/pytorch#181723.)"""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x):
        return self.net(x)


class Conflicts:
    def __init__(self):
        self.kept = []

    def add(self, grads):
        self.kept.append([g.flatten().clone() for g in grads])

    def similarity(self):
        first, second = (torch.cat(parts) for parts in self.kept)
        self.kept.clear()
        return nn.functional.cosine_similarity(first, second, dim=0)


class TwoTasks:
    def __init__(self, width, batch):
        tower = Tower(width).cuda()
        sample = torch.zeros(batch, width, device="cuda", requires_grad=True)
        self.params = list(tower.parameters())
        self.tower = torch.cuda.make_graphed_callables(tower, (sample,))
        self.heads = nn.ModuleList(nn.Linear(width, 1) for _ in range(2)).cuda()
        self.conflicts = Conflicts()

    def gradients(self, x, task):
        h = self.tower(x.detach().requires_grad_())
        loss = self.heads[task](h).square().mean()
        return torch.autograd.grad(loss, self.params)

    def step(self, x):
        for task in range(2):
            self.conflicts.add(self.gradients(x, task))
        return self.conflicts.similarity()


def main(loader):
    tasks = TwoTasks(32, 16)
    return [tasks.step(x.cuda()).item() for x in loader]
