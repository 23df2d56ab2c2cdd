"""After a mixture of experts whose quantisation method is finished again whenever weights are loaded.

Symptom: the kernel object owns tensors of strides and scales that the graph reads; a reload puts another
kernel object in its place, and the graph goes on with memory that nobody owns any more.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class GroupedKernel:
    def __init__(self, layer: nn.Module):
        experts = layer.weight.shape[0]
        self.strides = torch.full((experts,), layer.weight.shape[1], dtype=torch.long, device="cuda")
        self.scales = layer.weight.abs().amax(dim=(1, 2)).clone()

    def apply(self, x: torch.Tensor, weight: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        picked = weight[ids] * self.scales[ids][:, None, None]
        return torch.einsum("bd,bde->be", x, picked) + self.strides[ids][:, None] * 0

    def refresh(self, layer: nn.Module) -> None:
        torch.amax(layer.weight.abs(), dim=(1, 2), out=self.scales)


class Fp8Method:
    def __init__(self) -> None:
        self.kernel: GroupedKernel | None = None

    def process_weights_after_loading(self, layer: nn.Module) -> None:
        self.kernel = GroupedKernel(layer)  # HAZARD: rebind-static-input, stale-pointer

    def apply(self, layer: nn.Module, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        return self.kernel.apply(x, layer.weight, ids)


class FusedExperts(nn.Module):
    def __init__(self, experts: int, width: int, method: Fp8Method):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(experts, width, width, device="cuda"), requires_grad=False)
        self.gate = nn.Linear(width, experts, device="cuda")
        self.quant_method = method

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.quant_method.apply(self, x, self.gate(x).argmax(-1))


class ModelRunner:
    def __init__(self, layers: int, experts: int, width: int, batch: int):
        self.model = nn.Sequential(*[FusedExperts(experts, width, Fp8Method()) for _ in range(layers)])
        self._finish_loading()
        self.x = torch.zeros(batch, width, device="cuda")
        self.capture_model()

    def _finish_loading(self) -> None:
        for module in self.model.modules():
            method = getattr(module, "quant_method", None)
            if method is not None:
                method.process_weights_after_loading(module)

    @torch.inference_mode()
    def capture_model(self) -> None:
        for _ in range(2):
            self.model(self.x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.hidden = self.model(self.x)

    def update_weights(self, named: dict[str, torch.Tensor]) -> None:
        params = dict(self.model.named_parameters())
        for name, tensor in named.items():
            params[name].data.copy_(tensor)
        self._finish_loading()

    def execute_model(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.hidden.clone()
