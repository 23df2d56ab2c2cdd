"""Clean: a simulation step with masked resets, host time and episode logs outside; observation copies for
the policy and a ring buffer written in place."""

import time

import torch
from torch import nn


class Env:
    def __init__(self, n):
        self.state = torch.zeros(n, 4, device="cuda")
        self.action = torch.zeros(n, 2, device="cuda")
        self.reward = torch.zeros(n, device="cuda")
        self.done = torch.zeros(n, dtype=torch.bool, device="cuda")
        self.length = torch.zeros(n, device="cuda")
        self.dt, self.limit = 0.02, 5.0

    def step(self):
        self.state[:, 2:].add_(self.action, alpha=self.dt)
        self.state[:, :2].add_(self.state[:, 2:], alpha=self.dt)
        self.length.add_(1.0)
        self.reward.copy_(-self.state[:, :2].norm(dim=-1))
        torch.gt(self.state.abs().amax(-1), self.limit, out=self.done)
        self.state.masked_fill_(self.done.unsqueeze(-1), 0.0)
        self.length.mul_(~self.done)


class Rollout:
    def __init__(self, env, policy, horizon):
        self.env, self.policy, self.horizon = env, policy, horizon
        self.rewards = torch.zeros(horizon, env.reward.shape[0], device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        saved = env.state.clone()
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(1):
                    self._tick()
            torch.cuda.current_stream().wait_stream(side)
            env.state.copy_(saved)
            env.length.zero_()
            with torch.cuda.graph(self.graph):
                self._tick()

    def _tick(self):
        self.env.action.copy_(torch.tanh(self.policy(self.env.state)))
        self.env.step()

    def collect(self):
        started, resets, frames = time.perf_counter(), 0, []
        for t in range(self.horizon):
            self.graph.replay()
            self.rewards[t].copy_(self.env.reward)
            frames.append(self.env.state.clone())
            if t % 16 == 0:
                resets += int(self.env.done.sum())
        return torch.stack(frames), self.rewards.mean().item(), resets, time.perf_counter() - started


def main():
    rollout = Rollout(Env(512), nn.Linear(4, 2).cuda(), 64)
    return [rollout.collect()[1:] for _ in range(3)]
