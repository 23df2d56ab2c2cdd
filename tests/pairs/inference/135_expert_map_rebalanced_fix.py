"""Drawn from expert load balancing in vllm and sglang (the map from logical to physical experts).

Symptom: the balancer gives each layer a new map of its experts when the load has shifted; the
decode graph goes on routing with the map of the capture, while weights have moved.
"""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Placement:
    logical_to_physical: torch.Tensor
    replicas: torch.Tensor


class MoELayer(nn.Module):
    def __init__(self, width: int, experts: int):
        super().__init__()
        self.gate = nn.Linear(width, experts, device="cuda")
        self.w = nn.Parameter(torch.randn(experts, width, width, device="cuda"))
        self.placement = Placement(
            torch.arange(experts, device="cuda"), torch.ones(experts, dtype=torch.long, device="cuda")
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        score, expert = self.gate(x).softmax(-1).max(-1)
        physical = self.placement.logical_to_physical[expert]
        return score[:, None] * torch.bmm(x[:, None], self.w[physical]).squeeze(1)


class LoadBalancer:
    def __init__(self, layers: list[MoELayer], interval: int = 1000):
        self.layers, self.interval, self.steps = layers, interval, 0

    def _solve(self, layer: MoELayer) -> Placement:
        order = torch.randperm(layer.w.shape[0], device="cuda")
        return Placement(order, torch.ones_like(order))

    def tick(self) -> None:
        self.steps += 1
        if self.steps % self.interval:
            return
        for layer in self.layers:
            placement = self._solve(layer)
            layer.w.data.copy_(layer.w.data[placement.logical_to_physical])
            layer.placement.logical_to_physical.copy_(placement.logical_to_physical)
            layer.placement.replicas.copy_(placement.replicas)


class ExpertEngine:
    def __init__(self, layers: list[MoELayer], batch: int, width: int):
        self.layers = layers
        self.balancer = LoadBalancer(layers)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _run(self) -> torch.Tensor:
        h = self.x
        for layer in self.layers:
            h = layer(h)
        return h

    @torch.no_grad()
    def capture(self) -> None:
        for _ in range(2):
            self._run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._run()

    @torch.no_grad()
    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        self.balancer.tick()
        return self.y.clone()
