"""Clean: an actor compiled with reduce-overhead; what is kept of each call is cloned or written into a preallocated
buffer before the next one, the critic is compiled without graphs."""

from __future__ import annotations

import torch
from torch import nn


class Storage:
    def __init__(self, steps: int, envs: int, obs: int, act: int) -> None:
        self.obs = torch.zeros(steps, envs, obs, device="cuda")
        self.actions = torch.zeros(steps, envs, act, device="cuda")
        self.rewards = torch.zeros(steps, envs, device="cuda")
        self.filled = 0

    def put(self, obs, action, reward) -> None:
        self.obs[self.filled] = obs
        self.actions[self.filled] = action
        self.rewards[self.filled] = reward
        self.filled += 1

    def clear(self) -> None:
        self.filled = 0


class Agent:
    def __init__(self, obs: int, act: int) -> None:
        self.actor = nn.Sequential(nn.Linear(obs, 128), nn.ELU(), nn.Linear(128, act), nn.Tanh()).cuda()
        self.critic = nn.Sequential(nn.Linear(obs, 128), nn.ELU(), nn.Linear(128, 1)).cuda()
        self.act = torch.compile(self.actor, mode="reduce-overhead")
        self.value = torch.compile(self.critic)
        self.opt = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=3e-4)
        self.last_action = None

    @torch.no_grad()
    def collect(self, env, storage: Storage, obs: torch.Tensor) -> torch.Tensor:
        storage.clear()
        for _ in range(storage.obs.shape[0]):
            torch.compiler.cudagraph_mark_step_begin()
            action = self.act(obs)
            self.last_action = action.clone()
            nxt, reward = env.step(action)
            storage.put(obs, action, reward)
            obs = nxt
        return obs

    def learn(self, storage: Storage) -> float:
        values = self.value(storage.obs).squeeze(-1)
        returns = storage.rewards.flip(0).cumsum(0).flip(0)
        advantage = (returns - values).detach()
        distance = (self.actor(storage.obs) - storage.actions).square().sum(-1)
        loss = (advantage * distance).mean() + nn.functional.mse_loss(values, returns)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def train(env, iterations: int = 100) -> list[float]:
    agent = Agent(24, 6)
    storage = Storage(32, 512, 24, 6)
    obs = env.reset()
    losses = []
    for _ in range(iterations):
        obs = agent.collect(env, storage, obs)
        losses.append(agent.learn(storage))
    return losses
