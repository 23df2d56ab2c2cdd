"""Drawn from value-based agents whose acting step is captured (compare LeanRL and rsl_rl).

Symptom: epsilon comes from a schedule object with a Python step count; the captured policy compares its
random numbers with the epsilon of the first step.
"""

import torch
from torch import nn


class LinearSchedule:
    def __init__(self, start: float, end: float, steps: int):
        self.start, self.end, self.steps, self.t = start, end, steps, 0

    def advance(self) -> None:
        self.t += 1

    @property
    def value(self) -> float:
        return self.start + (self.end - self.start) * min(1.0, self.t / self.steps)


class Agent:
    def __init__(self, q: nn.Module, envs: int, obs: int, actions: int):
        self.q, self.actions = q.cuda(), actions
        self.epsilon = LinearSchedule(1.0, 0.05, 10_000)
        self.obs = torch.zeros(envs, obs, device="cuda")
        self.eps = torch.ones((), device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _act(self) -> torch.Tensor:
        greedy = self.q(self.obs).argmax(-1)
        noise = torch.rand(greedy.shape, device="cuda")
        other = torch.randint(0, self.actions, greedy.shape, device="cuda")
        return torch.where(noise < self.eps, other, greedy)

    @torch.no_grad()
    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._act()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.action = self._act()

    @torch.no_grad()
    def act(self, obs: torch.Tensor) -> torch.Tensor:
        self.obs.copy_(obs)
        self.eps.fill_(self.epsilon.value)
        self.graph.replay()
        self.epsilon.advance()
        return self.action.clone()
