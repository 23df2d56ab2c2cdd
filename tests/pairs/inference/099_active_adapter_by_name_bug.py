"""Symptom: the adapter mixin looks its weights up by the name of the active adapter; the graph has the
weights of the adapter that was active at the capture, and switching the name changes nothing.
"""

import torch
import torch.nn as nn


class AdapterMixin:
    def init_adapters(self, width: int, names: list[str]) -> None:
        self.deltas = {name: torch.zeros(width, width, device="cuda") for name in names}
        self.active = names[0]

    def set_active(self, name: str) -> None:
        self.active = name  # HAZARD: frozen-scalar, rebind-static-input

    def adapt(self, x: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
        return base + x @ self.deltas[self.active]  # ALT: frozen-scalar, rebind-static-input


class AdaptedLinear(AdapterMixin, nn.Module):
    def __init__(self, width: int, names: list[str]):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.init_adapters(width, names)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.adapt(x, self.lin(x))


class AdapterServer:
    def __init__(self, width: int, batch: int, names: list[str]):
        self.layer = AdaptedLinear(width, names).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self._capture()

    @torch.inference_mode()
    def _capture(self) -> None:
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    def switch(self, name: str) -> None:
        self.layer.set_active(name)

    def infer(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
