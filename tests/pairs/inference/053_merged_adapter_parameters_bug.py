"""Symptom: merging an adapter walks over the linear layers and gives each a new Parameter, under a
graph that reads the old ones.
"""

import torch
import torch.nn as nn


class Merger:
    def __init__(self, model: nn.Module):
        self.layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, nn.Linear)}

    @torch.no_grad()
    def merge(self, deltas: dict[str, torch.Tensor]) -> None:
        for name, layer in self.layers.items():
            if name in deltas:
                merged = layer.weight + deltas[name].cuda()
                layer.weight = nn.Parameter(merged, requires_grad=False)  # HAZARD: stale-pointer


class Mlp(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(x)))


class AdapterServer:
    def __init__(self, width: int, batch: int):
        self.model = Mlp(width).cuda().requires_grad_(False)
        self.merger = Merger(self.model)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        for _ in range(2):
            self.model(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    def load_adapter(self, deltas: dict[str, torch.Tensor]) -> None:
        self.merger.merge(deltas)

    def infer(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
