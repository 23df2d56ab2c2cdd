"""One graph acts, steps the environment and writes into the rollout storage. The row is a Python counter of
the storage, so that every replay writes the row of the capture."""

import torch
from torch import nn


class Storage:
    def __init__(self, horizon, envs, obs, act):
        self.horizon = horizon
        self.row = torch.zeros(1, dtype=torch.long, device="cuda")
        self.obs = torch.zeros(horizon, envs, obs, device="cuda")
        self.act = torch.zeros(horizon, envs, act, device="cuda")

    def add(self, obs, act):
        self.obs.index_copy_(0, self.row, obs.unsqueeze(0))
        self.act.index_copy_(0, self.row, act.unsqueeze(0))

    def advance(self):
        self.row.add_(1)

    def clear(self):
        self.row.zero_()


class PointMass:
    def __init__(self, envs):
        self.state = torch.zeros(envs, 4, device="cuda")

    def step(self, act):
        self.state[:, 2:].add_(act, alpha=0.1)
        self.state[:, :2].add_(self.state[:, 2:], alpha=0.1)


class Collector:
    def __init__(self, policy, env, storage):
        self.policy, self.env, self.storage = policy, env, storage
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def _transition(self):
        act = self.policy(self.env.state)
        self.storage.add(self.env.state, act)
        self.env.step(act)

    def capture(self):
        saved = self.env.state.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._transition()
        torch.cuda.current_stream().wait_stream(side)
        self.env.state.copy_(saved)
        with torch.cuda.graph(self.graph):
            self._transition()

    def collect(self):
        self.storage.clear()
        for _ in range(self.storage.horizon):
            self.graph.replay()
            self.storage.advance()
        return self.storage.obs.clone(), self.storage.act.clone()


def main(learn, iterations):
    collector = Collector(nn.Linear(4, 2).cuda(), PointMass(64), Storage(16, 64, 4, 2))
    collector.capture()
    for _ in range(iterations):
        learn(*collector.collect())
