"""Drawn from batched environments on the device whose physics is captured (compare isaac-sim and brax ports).

Symptom: after a reset the environments go on from where they were: reset makes new state tensors, and the captured
physics moves the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass
class CartState:
    x: torch.Tensor
    v: torch.Tensor
    angle: torch.Tensor
    spin: torch.Tensor

    @classmethod
    def random(cls, envs: int) -> CartState:
        parts = (torch.rand(4, envs, device="cuda") - 0.5) * 0.1
        return cls(*(part.clone() for part in parts))


class CartPole:
    def __init__(self, envs: int, dt: float = 0.02) -> None:
        self.envs, self.dt = envs, dt
        self.state = CartState.random(envs)
        self.push = torch.zeros(envs, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def _physics(self) -> None:
        s = self.state
        sin, cos = torch.sin(s.angle), torch.cos(s.angle)
        force = (self.push + 0.05 * s.spin.square() * sin) / 1.1
        spin = (9.8 * sin - cos * force) / (0.5 * (4.0 / 3.0 - 0.1 * cos.square() / 1.1))
        accel = force - 0.05 * spin * cos / 1.1
        s.v.add_(accel, alpha=self.dt)
        s.x.add_(s.v, alpha=self.dt)
        s.spin.add_(spin, alpha=self.dt)
        s.angle.add_(s.spin, alpha=self.dt)

    def _record(self) -> None:
        saved = [part.clone() for part in vars(self.state).values()]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._physics()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._physics()
        for part, old in zip(vars(self.state).values(), saved):
            part.copy_(old)

    def observe(self) -> torch.Tensor:
        s = self.state
        return torch.stack([s.x, s.v, s.angle, s.spin], dim=-1)

    def reset(self) -> torch.Tensor:
        self.state = CartState.random(self.envs)  # HAZARD: rebind-static-input
        return self.observe()

    def step(self, push: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.push.copy_(push)
        if self.graph is None:
            self._record()
        self.graph.replay()
        return self.observe(), self.state.angle.abs() > 0.2


def episodes(env: CartPole, policy, count: int, horizon: int) -> list[float]:
    returns = []
    for _ in range(count):
        obs, alive = env.reset(), torch.ones(env.envs, device="cuda")
        total = torch.zeros(env.envs, device="cuda")
        for _ in range(horizon):
            obs, done = env.step(policy(obs))
            alive = alive * (~done).float()
            total += alive
        returns.append(total.mean().item())
    return returns
