"""Drawn from pytorch/tensordict#986 and later fixes of its CudaGraphModule.

Symptom: the wrapper warms up for some calls and replays afterwards. Its outputs are those of the graph,
and the collector of a policy-gradient learner keeps the values of all steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def flatten(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for key in sorted(value) for t in flatten(value[key])]
    if isinstance(value, (tuple, list)):
        return [t for item in value for t in flatten(item)]
    return []


class GraphModule:
    def __init__(self, fn: Callable, warmup: int = 2):
        self.fn, self.warmup = fn, warmup
        self.counter = 0
        self.graph: torch.cuda.CUDAGraph | None = None

        def call(*args):
            if self.counter < self.warmup:
                self.counter += 1
                side = torch.cuda.Stream()
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    out = self.fn(*args)
                torch.cuda.current_stream().wait_stream(side)
                return out
            if self.graph is None:
                self.inputs = [t.clone() for t in flatten(args)]
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.outputs = self.fn(*self.inputs)
            for mine, given in zip(self.inputs, flatten(args)):
                mine.copy_(given)
            self.graph.replay()
            return tuple(out.clone() for out in self.outputs)

        self._call = call

    def __call__(self, *args):
        return self._call(*args)


class ActorCritic(nn.Module):
    def __init__(self, obs: int, act: int, hidden: int = 64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, act)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.body(obs)
        return self.pi(h), self.v(h).squeeze(-1)


class Collector:
    def __init__(self, env, model: ActorCritic, horizon: int):
        self.env, self.horizon = env, horizon
        self.act = GraphModule(model, warmup=3)

    @torch.no_grad()
    def collect(self) -> dict[str, torch.Tensor]:
        observations, values, rewards = [], [], []
        obs = self.env.reset()
        for _ in range(self.horizon):
            logits, value = self.act(obs)
            action = logits.argmax(-1)
            observations.append(obs)
            values.append(value)
            obs, reward = self.env.step(action)
            rewards.append(reward)
        return {
            "obs": torch.stack(observations),
            "value": torch.stack(values),
            "reward": torch.stack(rewards),
        }
