"""After grammar-constrained decoding of several tokens in one graph.

Symptom: the loop over the drafted positions ends when every row has finished, which is asked of the device.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class TokenLoop:
    def __init__(self, model: nn.Module, stop: int, most: int):
        self.model, self.stop, self.most = model, stop, most

    def finished(self, ids: torch.Tensor, done: torch.Tensor) -> bool:
        done |= ids == self.stop
        return all(done)  # HAZARD: host-branch-on-device, sync-in-capture

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        done = torch.zeros_like(ids, dtype=torch.bool)
        out = []
        for _ in range(self.most):
            ids = self.model(ids).argmax(-1)
            out.append(torch.where(done, self.stop, ids))
            if self.finished(ids, done):
                break
        return torch.stack(out, dim=1)


class MultiTokenGraph:
    def __init__(self, loop: TokenLoop, batch: int):
        self.loop = loop
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def build(self) -> None:
        for _ in range(2):
            self.loop(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.loop(self.ids)

    def run(self, ids: torch.Tensor) -> list[list[int]]:
        self.ids.copy_(ids)
        self.graph.replay()
        return self.tokens.tolist()
