"""Clean: rollouts of several lengths have a graph each, found by their length; the length is a Python loop in
the captured code, outputs are cloned before they are kept, and a device counter picks the storage row."""

from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Recorded:
    graph: torch.cuda.CUDAGraph
    total: torch.Tensor


@dataclass
class Settings:
    lengths: tuple = (4, 8, 16)
    envs: int = 256
    discount: float = 0.99
    graphs: dict = field(default_factory=dict)


class Roller:
    def __init__(self, policy, settings):
        self.policy, self.settings = policy, settings
        self.start = torch.zeros(settings.envs, 4, device="cuda")
        self.row = torch.zeros(1, dtype=torch.long, device="cuda")
        self.log = torch.zeros(64, settings.envs, device="cuda")

    @torch.no_grad()
    def _roll(self, length):
        state, total, weight = self.start, torch.zeros(self.settings.envs, device="cuda"), 1.0
        for _ in range(length):
            act = self.policy(state)
            state = torch.cat([state[:, :2] + 0.1 * state[:, 2:], state[:, 2:] + 0.1 * act], -1)
            total = total - weight * state.square().sum(-1)
            weight *= self.settings.discount
        self.log.index_copy_(0, self.row, total.unsqueeze(0))
        self.row.add_(1).remainder_(self.log.shape[0])
        return total

    def _record(self, length):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._roll(length)
        torch.cuda.current_stream().wait_stream(side)
        self.row.zero_()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            total = self._roll(length)
        return Recorded(graph, total)

    def __call__(self, start, length):
        if length not in self.settings.graphs:
            self.settings.graphs[length] = self._record(length)
        recorded = self.settings.graphs[length]
        self.start.copy_(start)
        recorded.graph.replay()
        return recorded.total.clone()


def main(starts):
    settings = Settings()
    roller, kept = Roller(nn.Linear(4, 2).cuda(), settings), {}
    for start in starts:
        for length in sorted(settings.lengths, reverse=True):
            kept.setdefault(length, []).append(roller(start, length))
    return {length: torch.stack(parts).mean().item() for length, parts in kept.items()}
