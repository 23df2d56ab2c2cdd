"""Drawn from trust region and evolution updates that write a flat vector into a policy whose rollout is captured.

Fixed: each piece of the vector is copied into its parameter.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector


class GaussianPolicy(nn.Module):
    def __init__(self, obs: int, act: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 64), nn.Tanh(), nn.Linear(64, act))

    def forward(self, obs):
        return torch.tanh(self.body(obs))


class PointMass:
    """Dynamics on the device, a few lines of torch."""

    def __init__(self, envs: int) -> None:
        self.pos = torch.zeros(envs, 2, device="cuda")
        self.vel = torch.zeros(envs, 2, device="cuda")

    def reset(self) -> None:
        self.pos.fill_(1.0)
        self.vel.zero_()

    def advance(self, action: torch.Tensor) -> torch.Tensor:
        self.vel.add_(action, alpha=0.05)
        self.pos.add_(self.vel, alpha=0.05)
        return -self.pos.norm(dim=1)


class CapturedReturn:
    def __init__(self, policy: nn.Module, env: PointMass, horizon: int) -> None:
        self.policy, self.env, self.horizon = policy, env, horizon
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._episode()
            torch.cuda.current_stream().wait_stream(side)
            with torch.cuda.graph(self.graph):
                self.total = self._episode()

    def _episode(self) -> torch.Tensor:
        self.env.reset()
        total = torch.zeros((), device="cuda")
        for _ in range(self.horizon):
            obs = torch.cat([self.env.pos, self.env.vel], dim=1)
            total = total + self.env.advance(self.policy(obs)).mean()
        return total

    def __call__(self) -> float:
        self.graph.replay()
        return self.total.item()


@torch.no_grad()
def write(vector: torch.Tensor, parameters) -> None:
    at = 0
    for p in parameters:
        p.copy_(vector[at : at + p.numel()].view_as(p))
        at += p.numel()


def line_search(policy: nn.Module, evaluate, direction: torch.Tensor, tries: int = 10) -> bool:
    start = parameters_to_vector(policy.parameters()).detach().clone()
    before = evaluate()
    for k in range(tries):
        write(start + 0.5**k * direction, policy.parameters())
        if evaluate() > before:
            return True
    write(start, policy.parameters())
    return False


def improve(iterations: int = 50) -> None:
    policy = GaussianPolicy(4, 2).cuda()
    evaluate = CapturedReturn(policy, PointMass(256), horizon=20)
    size = sum(p.numel() for p in policy.parameters())
    for _ in range(iterations):
        line_search(policy, evaluate, 0.1 * torch.randn(size, device="cuda"))
