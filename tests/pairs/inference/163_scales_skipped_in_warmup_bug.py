"""After dynamic KV scales in vLLM (`calculate_kv_scales`).

Symptom: profiling and warm-up runs are told to leave the scales alone, so the first forward that measures
them is the one under capture; measuring reads the maxima on the host.
"""

from dataclasses import dataclass, field

import torch
import torch.nn as nn


@dataclass
class ForwardContext:
    is_profile: bool = False
    tokens: int = 0
    extra: dict[str, object] = field(default_factory=dict)


_current = ForwardContext()


def forward_context() -> ForwardContext:
    return _current


class QuantisedAttention(nn.Module):
    FP8_MAX = 448.0

    def __init__(self, width: int, tokens: int, dynamic_scales: bool = True):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, device="cuda")
        self.calculate_kv_scales = dynamic_scales
        self.k_scale = torch.ones((), device="cuda")
        self.v_scale = torch.ones((), device="cuda")
        self.k_scale_float = 1.0
        self.v_scale_float = 1.0
        self.register_buffer("cache", torch.zeros(2, tokens, width, device="cuda"))

    def measure(self, k: torch.Tensor, v: torch.Tensor) -> None:
        self.k_scale.copy_(k.abs().amax() / self.FP8_MAX)
        self.v_scale.copy_(v.abs().amax() / self.FP8_MAX)
        self.k_scale_float = self.k_scale.item()  # HAZARD: sync-in-capture
        self.v_scale_float = self.v_scale.item()  # HAZARD: sync-in-capture
        self.calculate_kv_scales = False

    def forward(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        if self.calculate_kv_scales and not forward_context().is_profile:
            self.measure(k, v)
        self.cache[0].index_copy_(0, slots, k / self.k_scale)
        self.cache[1].index_copy_(0, slots, v / self.v_scale)
        weights = torch.softmax(q @ (self.cache[0] * self.k_scale).T, dim=-1)
        return weights @ (self.cache[1] * self.v_scale)


class Worker:
    def __init__(self, width: int, batch: int):
        self.attn = QuantisedAttention(width, 1024)
        self.x = torch.zeros(batch, width, device="cuda")
        self.slots = torch.arange(batch, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def profile_run(self) -> None:
        forward_context().is_profile = True
        try:
            for _ in range(2):
                self.attn(self.x, self.slots)
            torch.cuda.synchronize()
        finally:
            forward_context().is_profile = False

    @torch.inference_mode()
    def compile_or_warm_up_model(self) -> None:
        self.profile_run()
        with torch.cuda.graph(self.graph):
            self.out = self.attn(self.x, self.slots)

    @torch.inference_mode()
    def execute(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.slots.copy_(slots)
        self.graph.replay()
        return self.out.clone()
