"""Symptom: every step builds fresh attention metadata with dataclasses.replace, and the graph goes on
reading the lengths of the warm-up batch.
"""

import dataclasses

import torch
import torch.nn as nn


@dataclasses.dataclass
class DecodeMeta:
    lens: torch.Tensor
    block_size: int


class PagedLayer(nn.Module):
    def __init__(self, width: int, blocks: int):
        super().__init__()
        self.proj = nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(blocks, width))

    def forward(self, x: torch.Tensor, meta: DecodeMeta) -> torch.Tensor:
        q = self.proj(x)
        reach = meta.lens * meta.block_size
        live = torch.arange(self.keys.shape[0], device=x.device)[None] < reach[:, None]
        return torch.softmax((q @ self.keys.t()).masked_fill(~live, -1e9), dim=-1) @ self.keys


class StepRunner:
    def __init__(self, layer: PagedLayer, batch: int, width: int):
        self.layer = layer.cuda().eval()
        self.hidden = torch.zeros(batch, width, device="cuda")
        self.meta = DecodeMeta(torch.ones(batch, dtype=torch.int64, device="cuda"), 16)
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        return self.layer(self.hidden, self.meta)

    @torch.inference_mode()
    def warm_and_record(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.result = self._forward()

    def prepare(self, lens: torch.Tensor) -> None:
        self.meta = dataclasses.replace(self.meta, lens=lens.cuda())  # HAZARD: rebind-static-input

    def step(self, hidden: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        self.prepare(lens)
        self.hidden.copy_(hidden)
        self.graph.replay()
        return self.result.clone()
