"""Symptom: activating an adapter binds its matrices to the layer; graphs keep adding the adapter that
was active at capture.
"""

import torch
import torch.nn as nn


class LoraLinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int):
        super().__init__()
        self.base = base
        self.down = torch.zeros(rank, base.in_features, device="cuda")
        self.up = torch.zeros(base.out_features, rank, device="cuda")

    def set_adapter(self, down: torch.Tensor, up: torch.Tensor) -> None:
        self.down = down.to("cuda")  # HAZARD: rebind-static-input
        self.up = up.to("cuda")  # HAZARD: rebind-static-input

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + x @ self.down.t() @ self.up.t()


class AdapterManager:
    def __init__(self, layers: dict[str, LoraLinear]):
        self.layers = layers
        self.loaded: dict[str, dict[str, tuple]] = {}

    def activate(self, adapter: str) -> None:
        for name, weights in self.loaded[adapter].items():
            self.layers[name].set_adapter(*weights)


class LoraRunner:
    def __init__(self, width: int, depth: int, batch: int):
        self.layers = {f"l{i}": LoraLinear(nn.Linear(width, width).cuda(), 8) for i in range(depth)}
        self.manager = AdapterManager(self.layers)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = None

    def _body(self) -> torch.Tensor:
        h = self.x
        for layer in self.layers.values():
            h = layer(h)
        return h

    @torch.no_grad()
    def capture(self) -> None:
        for _ in range(2):
            self._body()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self._body()

    def run(self, x: torch.Tensor, adapter: str) -> torch.Tensor:
        self.manager.activate(adapter)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
