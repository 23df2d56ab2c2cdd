"""After LoRA metadata with a flag on the host that lets kernels return early.

Symptom: the graph was recorded while no request had an adapter, so that the early return was taken; batches with
adapters replay a graph without their kernels.
"""

import torch
import torch.nn as nn


class LoRAMeta:
    def __init__(self, tokens: int):
        self.token_slots = torch.full((tokens,), -1, dtype=torch.long, device="cuda")
        self.no_lora = True

    def prepare(self, slots: list[int]) -> None:
        mapping = torch.tensor(slots, dtype=torch.long)
        self.token_slots[: len(slots)].copy_(mapping)
        self.no_lora = bool((mapping == -1).all())  # ALT: frozen-scalar


class LoRALinear(nn.Module):
    def __init__(self, width: int, slots: int, rank: int, meta: LoRAMeta):
        super().__init__()
        self.base = nn.Linear(width, width, device="cuda")
        self.a = torch.zeros(slots, rank, width, device="cuda")
        self.b = torch.zeros(slots, width, rank, device="cuda")
        self.meta = meta

    def delta(self, x: torch.Tensor) -> torch.Tensor:
        slots = self.meta.token_slots[: x.shape[0]]
        active = (slots >= 0).unsqueeze(-1)
        low = torch.einsum("trw,tw->tr", self.a[slots.clamp(min=0)], x)
        return torch.einsum("twr,tr->tw", self.b[slots.clamp(min=0)], low) * active

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.base(x)
        if self.meta.no_lora:  # HAZARD: frozen-scalar
            return y
        return y + self.delta(x)


class LoRAGraphs:
    def __init__(self, width: int, tokens: int):
        self.meta = LoRAMeta(tokens)
        self.layer = LoRALinear(width, 8, 16, self.meta)
        self.x = torch.zeros(tokens, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    @torch.inference_mode()
    def run(self, x: torch.Tensor, slots: list[int]) -> torch.Tensor:
        self.meta.prepare(slots)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
