"""Drawn from value-based agents that log how far their predictions move in an update.

Symptom: the logged change is always zero: the values before and after the update are the one static output of the
graph.
"""

from __future__ import annotations

import torch
from torch import nn


class GraphedValues:
    def __init__(self, net: nn.Module, obs: torch.Tensor) -> None:
        self.net, self.obs = net, obs.clone()
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.net(self.obs)
            torch.cuda.current_stream().wait_stream(side)
            with torch.cuda.graph(self.graph):
                self.values = self.net(self.obs)

    def __call__(self, obs: torch.Tensor) -> torch.Tensor:
        self.obs.copy_(obs)
        self.graph.replay()
        return self.values


class Learner:
    def __init__(self, obs_dim: int, actions: int, batch: int) -> None:
        self.net = nn.Sequential(nn.Linear(obs_dim, 128), nn.ReLU(), nn.Linear(128, actions)).cuda()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.values = GraphedValues(self.net, torch.zeros(batch, obs_dim, device="cuda"))
        self.moved: list[float] = []

    def update(self, obs: torch.Tensor, actions: torch.Tensor, targets: torch.Tensor) -> None:
        before = self.values(obs)  # ALT: stale-output
        chosen = self.net(obs).gather(1, actions.unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(chosen, targets)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        after = self.values(obs)
        self.moved.append((after - before).abs().mean().item())  # HAZARD: stale-output


def learn(memory, learner: Learner, steps: int) -> float:
    for _ in range(steps):
        obs, actions, targets = memory.sample()
        learner.update(obs.cuda(), actions.cuda(), targets.cuda())
    return sum(learner.moved) / max(1, len(learner.moved))
