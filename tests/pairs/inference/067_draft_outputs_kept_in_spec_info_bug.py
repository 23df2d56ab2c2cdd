"""Symptom: the draft-extend runner hands views of its static outputs to the batch, which keeps them in
its speculative state over the next replay.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
import torch.nn as nn


class ProcessorOutput(NamedTuple):
    topk_p: torch.Tensor
    topk_index: torch.Tensor
    hidden: torch.Tensor


@dataclass
class SpecInfo:
    topk_p: torch.Tensor | None = None
    topk_index: torch.Tensor | None = None
    hidden: torch.Tensor | None = None


@dataclass
class Batch:
    tokens: torch.Tensor
    spec: SpecInfo = field(default_factory=SpecInfo)


class DraftExtendGraph:
    def __init__(self, net: nn.Module, head: nn.Module, batch: int, topk: int):
        self.net, self.head, self.topk = net, head, topk
        self.tokens = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> ProcessorOutput:
        hidden = self.net(self.tokens)
        p, index = self.head(hidden).softmax(-1).topk(self.topk, dim=-1)
        return ProcessorOutput(p, index, hidden)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self._forward()

    def replay(self, batch: Batch) -> ProcessorOutput:
        n = batch.tokens.shape[0]
        self.tokens[:n].copy_(batch.tokens)
        self.graph.replay()
        return ProcessorOutput(*(t[:n] for t in self.out))


class DraftWorker:
    def __init__(self, runner: DraftExtendGraph):
        self.runner = runner

    def extend(self, batch: Batch) -> None:
        out = self.runner.replay(batch)
        batch.spec.topk_p = out.topk_p  # HAZARD: stale-output
        batch.spec.topk_index = out.topk_index  # HAZARD: stale-output
        batch.spec.hidden = out.hidden  # HAZARD: stale-output

    def extend_all(self, batches: list[Batch]) -> torch.Tensor:
        for batch in batches:
            self.extend(batch)
        return torch.cat([b.spec.hidden for b in batches])
