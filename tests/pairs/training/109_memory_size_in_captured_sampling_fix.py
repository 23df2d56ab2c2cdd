"""A replay memory draws its sample inside the captured update, up to the number of entries it has. That
number is a Python integer, so that the learner only ever sees the transitions of the warm-up phase."""

import torch
from torch import nn


class ReplayMemory:
    def __init__(self, capacity, obs, act):
        self.capacity, self.size, self.head = capacity, 0, 0
        self.obs = torch.zeros(capacity, obs, device="cuda")
        self.act = torch.zeros(capacity, act, device="cuda")
        self.target = torch.zeros(capacity, 1, device="cuda")
        self.filled = torch.zeros((), device="cuda")

    def extend(self, obs, act, target):
        rows = torch.arange(self.head, self.head + obs.shape[0], device="cuda") % self.capacity
        self.obs[rows], self.act[rows], self.target[rows] = obs, act, target
        self.head = (self.head + obs.shape[0]) % self.capacity
        self.size = min(self.size + obs.shape[0], self.capacity)
        self.filled.fill_(self.size)

    def sample(self, n):
        rows = (torch.rand(n, device="cuda") * self.filled).long()
        return self.obs[rows], self.act[rows], self.target[rows]


class CriticUpdate:
    def __init__(self, net, memory, n):
        self.net, self.memory, self.n = net, memory, n
        self.opt = torch.optim.Adam(net.parameters(), lr=3e-4, capturable=True)
        self.graph = None

    def _update(self):
        obs, act, target = self.memory.sample(self.n)
        loss = (self.net(torch.cat([obs, act], -1)) - target).square().mean()
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        return loss.detach()

    def __call__(self):
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self._update()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.loss = self._update()
        self.graph.replay()
        return self.loss


def main(env, steps, start=1000):
    memory = ReplayMemory(100_000, 8, 2)
    update = CriticUpdate(nn.Linear(10, 1).cuda(), memory, 256)
    for step in range(steps):
        memory.extend(*env.step())
        if step >= start:
            update()
