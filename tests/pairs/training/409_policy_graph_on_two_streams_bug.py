"""Drawn from asynchronous simulators: two halves of the environments take turns on two streams.

Symptom: both halves replay the one graph of the policy, each on its own stream; two replays are under way at once
and write the same buffers.
"""

from __future__ import annotations

import torch
from torch import nn


class PolicyGraph:
    def __init__(self, policy: nn.Module, envs: int, obs_dim: int) -> None:
        self.policy = policy
        self.obs = torch.zeros(envs, obs_dim, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.policy(self.obs)
            torch.cuda.current_stream().wait_stream(side)
            with torch.cuda.graph(self.graph):
                self.action = self.policy(self.obs)


class Half:
    def __init__(self, env, shared: PolicyGraph) -> None:
        self.env = env
        self.run = shared
        self.stream = torch.cuda.Stream()
        self.trace: list[torch.Tensor] = []

    def act(self, obs: torch.Tensor) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.run.obs.copy_(obs)
            self.run.graph.replay()  # HAZARD: pool-misuse, stream-escape, stale-output
            self.trace.append(self.run.action.clone())

    def finish(self) -> torch.Tensor:
        torch.cuda.current_stream().wait_stream(self.stream)
        return self.env.step(self.trace[-1])


def rollout(left_env, right_env, policy: nn.Module, steps: int, envs: int, obs_dim: int) -> torch.Tensor:
    policy = policy.cuda().eval()
    shared = PolicyGraph(policy, envs, obs_dim)
    left, right = Half(left_env, shared), Half(right_env, shared)
    left_obs = torch.zeros(envs, obs_dim, device="cuda")
    right_obs = torch.zeros(envs, obs_dim, device="cuda")
    for _ in range(steps):
        left.act(left_obs)
        right.act(right_obs)
        left_obs = left.finish()
        right_obs = right.finish()
    return torch.stack(left.trace + right.trace)
