"""Drawn from the LoRA managers of vllm and sglang (stacked adapter weights with slots).

Symptom: loading an adapter into a slot puts new tensors into the lists of the layer; the decode graph
multiplies with those that were in the slot when it was recorded.
"""

import torch
import torch.nn as nn


class AdapterLinear:
    """Looks like the wrapped layer, and adds the adapters of the slots."""

    def __init__(self, base: nn.Linear, slots: int, rank: int):
        self._base = base
        self.stack_a = [torch.zeros(rank, base.in_features, device="cuda") for _ in range(slots)]
        self.stack_b = [torch.zeros(base.out_features, rank, device="cuda") for _ in range(slots)]
        self.slot_mask = torch.zeros(slots, device="cuda")

    def __getattr__(self, name):
        return getattr(self._base, name)

    def set_slot(self, slot: int, a: torch.Tensor, b: torch.Tensor) -> None:
        self.stack_a[slot] = a.cuda()  # HAZARD: rebind-static-input
        self.stack_b[slot] = b.cuda()  # HAZARD: rebind-static-input
        self.slot_mask[slot : slot + 1].fill_(1.0)

    def __call__(self, x: torch.Tensor, one_hot: torch.Tensor) -> torch.Tensor:
        y = self._base(x)
        for slot, (a, b) in enumerate(zip(self.stack_a, self.stack_b)):
            y = y + (x @ a.T @ b.T) * one_hot[:, slot : slot + 1] * self.slot_mask[slot]
        return y


class AdapterManager:
    def __init__(self, layers: dict[str, AdapterLinear], slots: int):
        self.layers = layers
        self.free = list(range(slots))
        self.loaded: dict[str, int] = {}

    def load(self, name: str, weights: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> int:
        if name not in self.loaded:
            slot = self.loaded[name] = self.free.pop()
            for layer, (a, b) in weights.items():
                self.layers[layer].set_slot(slot, a, b)
        return self.loaded[name]


class AdapterEngine:
    def __init__(self, width: int, batch: int, slots: int = 4, rank: int = 8):
        up = AdapterLinear(nn.Linear(width, width, device="cuda"), slots, rank)
        down = AdapterLinear(nn.Linear(width, width, device="cuda"), slots, rank)
        self.layers = {"up": up, "down": down}
        self.manager = AdapterManager(self.layers, slots)
        self.x = torch.zeros(batch, width, device="cuda")
        self.one_hot = torch.zeros(batch, slots, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        h = torch.relu(self.layers["up"](self.x, self.one_hot))
        return self.layers["down"](h, self.one_hot)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._forward()

    @torch.inference_mode()
    def add_adapter(self, name: str, weights) -> int:
        return self.manager.load(name, weights)

    @torch.inference_mode()
    def step(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.one_hot.zero_()
        self.one_hot.scatter_(1, slots[:, None], 1.0)
        self.graph.replay()
        return self.y.clone()
