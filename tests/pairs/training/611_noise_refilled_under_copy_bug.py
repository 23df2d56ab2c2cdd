"""Drawn from evolution strategies that draw their noise on the host to be reproducible.

Symptom: some members get noise of the next generation: the pinned buffer is filled again while the copy of the last
noise to the device may still be under way.
"""

from __future__ import annotations

import torch
from torch import nn


class HostNoise:
    def __init__(self, members: int, size: int, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.host = torch.empty(members, size, pin_memory=True)
        self.device = torch.empty(members, size, device="cuda")

    def draw(self) -> None:
        self.host.normal_(
            generator=self.generator
        )  # HAZARD: other, stale-pointer, rebind-static-input, side-effect
        self.device.copy_(self.host, non_blocking=True)  # ALT: other, stale-pointer, rebind-static-input


class Population:
    """Policies that are one parameter vector and noise of their own."""

    def __init__(self, obs: int, act: int, members: int, sigma: float = 0.05) -> None:
        self.obs, self.act, self.sigma = obs, act, sigma
        self.base = torch.zeros(obs * act, device="cuda")
        self.noise = HostNoise(members, obs * act, seed=7)

    def act_all(self, obs: torch.Tensor) -> torch.Tensor:
        weights = (self.base + self.sigma * self.noise.device).view(-1, self.obs, self.act)
        return torch.tanh(torch.bmm(obs.unsqueeze(1), weights).squeeze(1))

    def update(self, fitness: torch.Tensor, lr: float) -> None:
        ranks = fitness.argsort().argsort().float() / (fitness.numel() - 1) - 0.5
        self.base.add_(self.noise.device.T @ ranks, alpha=lr / (fitness.numel() * self.sigma))


class Generation:
    def __init__(self, population: Population, dynamics: nn.Module, members: int, horizon: int) -> None:
        self.population, self.dynamics, self.horizon = population, dynamics.cuda(), horizon
        self.start = torch.zeros(members, population.obs, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _evaluate(self) -> torch.Tensor:
        state, total = self.start, torch.zeros(self.start.shape[0], device="cuda")
        for _ in range(self.horizon):
            action = self.population.act_all(state)
            state = self.dynamics(torch.cat([state, action], dim=-1))
            total = total - state.square().sum(-1)
        return total

    @torch.no_grad()
    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._evaluate()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.fitness = self._evaluate()

    @torch.no_grad()
    def run(self, generations: int) -> None:
        for _ in range(generations):
            self.population.noise.draw()
            self.graph.replay()
            self.population.update(self.fitness, lr=0.02)
