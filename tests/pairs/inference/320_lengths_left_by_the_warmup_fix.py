"""Source: NVIDIA/TensorRT-LLM#7737

Fixed form: the lengths are put back after the capture.
"""

import torch
import torch.nn as nn


class DecodeMetadata:
    def __init__(self, batch: int, max_len: int):
        self.kv_lens = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.cache = torch.zeros(batch, max_len, device="cuda")

    def advance(self) -> None:
        self.kv_lens.add_(1)

    def reset(self) -> None:
        self.kv_lens.zero_()


class OneModelEngine:
    WARMUP_STEPS = 2

    def __init__(self, model: nn.Module, meta: DecodeMetadata, batch: int):
        self.model, self.meta = model, meta
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def forward_fn(self) -> torch.Tensor:
        meta = self.meta
        logits = self.model(self.ids)
        meta.cache.scatter_(1, meta.kv_lens[:, None], logits[:, :1])
        meta.advance()
        live = torch.arange(meta.cache.shape[1], device="cuda") < meta.kv_lens[:, None]
        return logits + (meta.cache * live).sum(dim=1, keepdim=True)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(self.WARMUP_STEPS):
            self.forward_fn()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits = self.forward_fn()
        self.meta.reset()

    def generate(self, ids: torch.Tensor, steps: int) -> torch.Tensor:
        self.ids.copy_(ids)
        for _ in range(steps):
            self.graph.replay()
            self.ids.copy_(self.logits.argmax(-1))
        return self.ids.clone()
