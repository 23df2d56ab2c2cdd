"""Drawn from prioritized replay in off-policy learners (priorities kept in host memory).

Symptom: the captured update draws its rows itself: multinomial on the host, then the indices move to
the device. The copy comes from pageable memory, and the drawing would happen once.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Storage:
    obs: torch.Tensor
    act: torch.Tensor
    reward: torch.Tensor


class PrioritizedMemory:
    def __init__(self, size: int, obs: int, act: int):
        self.storage = Storage(
            torch.zeros(size, obs, device="cuda"),
            torch.zeros(size, act, device="cuda"),
            torch.zeros(size, device="cuda"),
        )
        self.priority = torch.ones(size)

    def sample(self, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.multinomial(self.priority, batch, replacement=True)
        rows = rows.to("cuda")  # HAZARD: pageable-copy
        return rows, self.storage.reward[rows]


class Learner:
    def __init__(self, critic: nn.Module, memory: PrioritizedMemory, batch: int):
        self.critic, self.memory, self.batch = critic.cuda(), memory, batch
        self.opt = torch.optim.Adam(critic.parameters(), lr=3e-4, capturable=True)
        self.graph: torch.cuda.CUDAGraph | None = None

    def _update(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        rows, target = self.memory.sample(self.batch)
        inputs = torch.cat([self.memory.storage.obs[rows], self.memory.storage.act[rows]], -1)
        error = self.critic(inputs).squeeze(-1) - target
        error.square().mean().backward()
        self.opt.step()
        return error.detach().abs()

    def start(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._update()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.error = self._update()

    def learn(self, updates: int) -> torch.Tensor:
        if self.graph is None:
            self.start()
        for _ in range(updates):
            self.graph.replay()
        return self.error.mean()
