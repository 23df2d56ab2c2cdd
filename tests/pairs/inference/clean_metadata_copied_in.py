"""Clean: a new metadata object arrives for each step, and its tensors are copied field by field into
the static one.
"""

from dataclasses import dataclass, fields

import torch
import torch.nn as nn


@dataclass
class BatchMeta:
    slots: torch.Tensor
    lens: torch.Tensor
    name: str = "decode"

    @classmethod
    def empty(cls, batch: int) -> "BatchMeta":
        return cls(
            torch.zeros(batch, dtype=torch.long, device="cuda"),
            torch.ones(batch, dtype=torch.long, device="cuda"),
        )

    def load(self, other: "BatchMeta") -> int:
        n = other.lens.shape[0]
        self.slots.zero_()
        self.lens.fill_(1)
        for field in fields(self):
            mine, new = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, torch.Tensor):
                mine[:n].copy_(new)
        return n


class Layer(nn.Module):
    def __init__(self, slots: int, width: int):
        super().__init__()
        self.register_buffer("state", torch.zeros(slots, width))
        self.mix = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, meta: BatchMeta) -> torch.Tensor:
        return self.mix(x) + self.state[meta.slots] / meta.lens[:, None]


class MetaRunner:
    def __init__(self, slots: int, width: int, batch: int):
        self.layer = Layer(slots, width).cuda()
        self.meta = BatchMeta.empty(batch)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.layer(self.x, self.meta)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x, self.meta)

    def step(self, x: torch.Tensor, meta: BatchMeta) -> torch.Tensor:
        n = self.meta.load(meta)
        self.x.zero_()
        self.x[:n].copy_(x)
        self.graph.replay()
        return self.y[:n].clone()
