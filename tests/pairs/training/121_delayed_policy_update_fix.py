"""The policy is trained every second update only. The test of the counter is part of the captured update, so
that the answer of the captured call holds for all replays."""

import torch
from torch import nn


class Losses:
    def __init__(self, actor, critic):
        self.actor, self.critic = actor, critic

    def of_critic(self, batch):
        obs, act, target = batch
        return (self.critic(torch.cat([obs, act], -1)) - target).square().mean()

    def of_actor(self, batch):
        obs = batch[0]
        return -self.critic(torch.cat([obs, self.actor(obs)], -1)).mean()


class DelayedAgent:
    def __init__(self, obs, act, size, every=2):
        self.actor, self.critic = nn.Linear(obs, act).cuda(), nn.Linear(obs + act, 1).cuda()
        self.losses = Losses(self.actor, self.critic)
        self.batch = tuple(torch.zeros(size, n, device="cuda") for n in (obs, act, 1))
        self.every, self.updates = every, 0
        self.graphs = {}

    def _gradient(self, module, loss):
        for p in module.parameters():
            p.grad = None
        loss.backward()
        with torch.no_grad():
            for p in module.parameters():
                p.sub_(p.grad, alpha=1e-3)

    def _update(self, with_actor):
        self._gradient(self.critic, self.losses.of_critic(self.batch))
        if with_actor:
            self._gradient(self.actor, self.losses.of_actor(self.batch))

    def learn(self, batch):
        for static, new in zip(self.batch, batch, strict=True):
            static.copy_(new)
        self.updates += 1
        with_actor = self.updates % self.every == 0
        if with_actor not in self.graphs:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self._update(with_actor)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._update(with_actor)
            self.graphs[with_actor] = graph
        self.graphs[with_actor].replay()


def main(memory, steps):
    agent = DelayedAgent(8, 2, 256)
    for _ in range(steps):
        agent.learn(memory.sample(256))
