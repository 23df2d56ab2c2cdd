"""Drawn from agents that normalise observations with running moments inside the captured act step.

Fix: the new moments are copied into the tensors that the graph reads.
"""

from __future__ import annotations

import torch
from torch import nn

Moments = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def merged(old: Moments, batch: torch.Tensor) -> Moments:
    mean, var, count = old
    size = float(batch.shape[0])
    batch_mean, batch_var = batch.mean(0), batch.var(0, unbiased=False)
    delta = batch_mean - mean
    total = count + size
    new_mean = mean + delta * size / total
    m2 = var * count + batch_var * size + delta.square() * count * size / total
    return new_mean, m2 / total, total


class RunningNorm:
    def __init__(self, width: int, clip: float = 10.0) -> None:
        self.mean = torch.zeros(width, device="cuda")
        self.var = torch.ones(width, device="cuda")
        self.count = torch.full((), 1e-4, device="cuda")
        self.clip = clip

    def update(self, batch: torch.Tensor) -> None:
        mean, var, count = merged((self.mean, self.var, self.count), batch)
        self.mean.copy_(mean)
        self.var.copy_(var)
        self.count.copy_(count)

    def __call__(self, batch: torch.Tensor) -> torch.Tensor:
        return ((batch - self.mean) / (self.var + 1e-8).sqrt()).clamp(-self.clip, self.clip)


class Worker:
    def __init__(self, policy: nn.Module, envs: int, obs: int) -> None:
        self.policy = policy.cuda().eval()
        self.norm = RunningNorm(obs)
        self.obs = torch.zeros(envs, obs, device="cuda")
        self.stream = torch.cuda.Stream()
        self.graph: torch.cuda.CUDAGraph | None = None

    def _act(self) -> torch.Tensor:
        self.norm.update(self.obs)
        logits = self.policy(self.norm(self.obs))
        gumbel = -torch.log(-torch.log(torch.rand_like(logits) + 1e-9) + 1e-9)
        return (logits + gumbel).argmax(-1)

    def _build(self) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(2):
                self._act()
        torch.cuda.current_stream().wait_stream(self.stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.action = self._act()

    @torch.no_grad()
    def act(self, obs: torch.Tensor) -> torch.Tensor:
        self.obs.copy_(obs)
        if self.graph is None:
            self._build()
        self.graph.replay()
        return self.action.clone()


def collect(env, worker: Worker, steps: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    obs = env.reset()
    pairs = []
    for _ in range(steps):
        action = worker.act(obs)
        pairs.append((obs, action))
        obs, _, _ = env.step(action)
    return pairs
