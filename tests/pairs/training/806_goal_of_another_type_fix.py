"""Drawn from NVlabs/curobo#219 ("changing goal type, breaking previous cuda graph").

Fixed: with a goal of another kind the iterations are recorded again.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass
class Goal:
    position: torch.Tensor
    quaternion: torch.Tensor
    kind: str = "single"

    def clone(self) -> Goal:
        return Goal(self.position.clone(), self.quaternion.clone(), self.kind)

    def copy_(self, other: Goal) -> Goal:
        self.position.copy_(other.position)
        self.quaternion.copy_(other.quaternion)
        return self


class ReachCost:
    def __init__(self, weight: float) -> None:
        self.weight = weight

    def __call__(self, q: torch.Tensor, goal: Goal) -> torch.Tensor:
        reach = (q[..., :3] - goal.position).square().sum(-1)
        turn = 1.0 - (q[..., 3:7] * goal.quaternion).sum(-1).square()
        return self.weight * reach + turn


class ParticleSolver:
    def __init__(self, particles: int, dofs: int, iterations: int = 20, use_graph: bool = True) -> None:
        self.cost = ReachCost(2.0)
        self.iterations, self.use_graph = iterations, use_graph
        self.mean = torch.zeros(dofs, device="cuda")
        self.noise = torch.randn(particles, dofs, device="cuda")
        self._goal: Goal | None = None
        self._graph: torch.cuda.CUDAGraph | None = None

    def update_goal(self, goal: Goal) -> None:
        if self._goal is not None and self._goal.kind == goal.kind:
            self._goal.copy_(goal)
        else:
            self._goal = goal.clone()
            self._graph = None

    def _iterate(self) -> None:
        for _ in range(self.iterations):
            samples = self.mean + 0.1 * self.noise
            weights = torch.softmax(-self.cost(samples, self._goal), dim=0)
            self.mean.copy_((weights.unsqueeze(-1) * samples).sum(0))

    def _record(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        saved = self.mean.clone()
        with torch.cuda.stream(side):
            for _ in range(2):
                self._iterate()
        torch.cuda.current_stream().wait_stream(side)
        self.mean.copy_(saved)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._iterate()

    @torch.no_grad()
    def solve(self, goal: Goal, seed: torch.Tensor) -> torch.Tensor:
        self.update_goal(goal)
        self.mean.copy_(seed)
        if not self.use_graph:
            self._iterate()
        else:
            if self._graph is None:
                self._record()
            self._graph.replay()
        return self.mean.clone()


def plan(requests: list[Goal], dofs: int = 7) -> list[torch.Tensor]:
    solver = ParticleSolver(512, dofs)
    seed = torch.zeros(dofs, device="cuda")
    return [solver.solve(goal, seed) for goal in requests]
