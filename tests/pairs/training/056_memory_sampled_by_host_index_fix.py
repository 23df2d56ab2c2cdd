"""A replay memory on the device is sampled inside the captured update with indices that randint makes on
the device."""

import torch
from torch import nn


class Memory:
    def __init__(self, capacity, obs):
        self.capacity = capacity
        self.obs = torch.zeros(capacity, obs, device="cuda")
        self.reward = torch.zeros(capacity, device="cuda")
        self.at = 0

    def push(self, obs, reward):
        self.obs[self.at].copy_(obs)
        self.reward[self.at].copy_(reward)
        self.at = (self.at + 1) % self.capacity

    def sample(self, n):
        rows = torch.randint(0, self.capacity, (n,), device=self.obs.device)
        return self.obs[rows], self.reward[rows]


class QUpdate:
    def __init__(self, net, memory, n):
        self.net, self.memory, self.n = net, memory, n
        self.opt = torch.optim.SGD(net.parameters(), lr=1e-3)
        self.graph = torch.cuda.CUDAGraph()

    def __call__(self):
        self.opt.zero_grad(set_to_none=True)
        obs, reward = self.memory.sample(self.n)
        loss = (self.net(obs).amax(-1) - reward).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self()


def main(env, steps):
    update = QUpdate(nn.Linear(4, 2).cuda(), Memory(10_000, 4), 128)
    update.capture()
    for _ in range(steps):
        update.memory.push(*env.step())
        update.graph.replay()
