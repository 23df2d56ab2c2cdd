"""After a runner that assembles token ids in one pinned buffer.

Symptom: the next step writes the buffer while the upload of the last one, which is part of the graph, may not
have run yet.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class InputStage:
    def __init__(self, batch: int):
        self.host = torch.zeros(batch, dtype=torch.long, pin_memory=True)
        self.device = torch.zeros(batch, dtype=torch.long, device="cuda")

    def write(self, tokens: list[int]) -> None:
        for row, token in enumerate(tokens):
            self.host[row] = token  # HAZARD: pageable-copy, stream-escape, other

    def upload(self) -> torch.Tensor:
        self.device.copy_(self.host, non_blocking=True)
        return self.device


class Step:
    def __init__(self, model: nn.Module, batch: int):
        self.model, self.stage = model, InputStage(batch)
        self.done = torch.cuda.Event()
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.stage.upload())
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.model(self.stage.upload()).argmax(-1)

    def launch(self, tokens: list[int]) -> torch.Tensor:
        self.stage.write(tokens)
        self.graph.replay()
        self.done.record()
        return self.tokens.clone()


def run(model: nn.Module, batches: list[list[int]]) -> list[torch.Tensor]:
    step = Step(model.cuda(), 32)
    step.capture()
    return [step.launch(batch) for batch in batches]
