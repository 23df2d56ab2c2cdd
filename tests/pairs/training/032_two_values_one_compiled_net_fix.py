"""A TD error needs the values of two observations from one network compiled with reduce-overhead; the first
value is cloned before the second call."""

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, obs):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, obs):
        return self.net(obs).squeeze(-1)


class Advantage:
    def __init__(self, obs_dim, gamma=0.99):
        self.critic = torch.compile(Critic(obs_dim).cuda().eval(), mode="reduce-overhead")
        self.gamma = gamma

    @torch.no_grad()
    def td_error(self, obs, reward, next_obs):
        torch.compiler.cudagraph_mark_step_begin()
        here = self.critic(obs).clone()
        torch.compiler.cudagraph_mark_step_begin()
        there = self.critic(next_obs)
        return reward + self.gamma * there - here


def score(loader, obs_dim):
    advantage = Advantage(obs_dim)
    total = 0.0
    for obs, reward, next_obs in loader:
        error = advantage.td_error(obs.cuda(), reward.cuda(), next_obs.cuda())
        total += error.square().mean().item()
    return total
