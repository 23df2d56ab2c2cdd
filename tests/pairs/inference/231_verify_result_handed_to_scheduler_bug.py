"""After a speculative worker whose scheduler looks at the result of the step before.

Symptom: the result object holds views of the graph's outputs; the scheduler reads them after the next step was
launched.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class VerifyResult:
    tokens: torch.Tensor
    accepted: torch.Tensor


class VerifyGraph:
    def __init__(self, target: nn.Module, batch: int, draft: int):
        self.target = target
        self.ids = torch.zeros(batch, draft + 1, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _verify(self) -> tuple[torch.Tensor, torch.Tensor]:
        wanted = self.target(self.ids).argmax(-1)
        agree = (wanted[:, :-1] == self.ids[:, 1:]).long().cumprod(1).sum(1)
        return wanted, agree

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._verify()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.wanted, self.agree = self._verify()

    def __call__(self, ids: torch.Tensor) -> VerifyResult:
        n = ids.shape[0]
        self.ids[:n].copy_(ids)
        self.ids[n:].zero_()
        self.graph.replay()
        return VerifyResult(self.wanted[:n], self.agree[:n])  # ALT: stale-output


def overlap_loop(verify: VerifyGraph, batches) -> list[list[int]]:
    verify.capture()
    previous: VerifyResult | None = None
    lengths = []
    for ids in batches:
        result = verify(ids)  # HAZARD: stale-output
        if previous is not None:
            lengths.append(previous.accepted.tolist())  # ALT: stale-output
        previous = result  # ALT: stale-output
    return lengths
