"""Clean: noise is drawn on the host into one of two pinned buffers, each with the event of its last copy; the captured
evaluation reads one device buffer, and fitness is copied before the next replay."""

from __future__ import annotations

import torch


class NoiseSource:
    def __init__(self, members: int, size: int) -> None:
        self.generator = torch.Generator().manual_seed(1)
        self.host = [torch.empty(members, size, pin_memory=True) for _ in range(2)]
        self.copied = [torch.cuda.Event() for _ in range(2)]
        self.device = torch.empty(members, size, device="cuda")
        self.turn = 0

    def draw(self) -> None:
        self.turn = 1 - self.turn
        self.copied[self.turn].synchronize()
        self.host[self.turn].normal_(generator=self.generator)
        self.device.copy_(self.host[self.turn], non_blocking=True)
        self.copied[self.turn].record()


class Swarm:
    def __init__(self, members: int, size: int) -> None:
        self.noise = NoiseSource(members, size)
        self.base = torch.zeros(size, device="cuda")
        self.target = torch.ones(size, device="cuda")
        self.best = torch.full((), -torch.inf, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _evaluate(self) -> torch.Tensor:
        tried = self.base + 0.1 * self.noise.device
        fitness = -(tried - self.target).square().sum(-1)
        self.best.copy_(torch.maximum(self.best, fitness.max()))
        return fitness

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._evaluate()
        torch.cuda.current_stream().wait_stream(side)
        self.best.fill_(-torch.inf)
        with torch.cuda.graph(self.graph):
            self.fitness = self._evaluate()

    def run(self, generations: int) -> list[float]:
        curve, kept = [], []
        for number in range(generations):
            self.noise.draw()
            self.graph.replay()
            weights = torch.softmax(self.fitness / 0.1, dim=0)
            self.base.add_(weights @ self.noise.device, alpha=0.1)
            kept.append(self.fitness.clone())
            if (number + 1) % 100 == 0:
                curve.append(torch.stack(kept).mean().item())
                kept.clear()
        return curve
