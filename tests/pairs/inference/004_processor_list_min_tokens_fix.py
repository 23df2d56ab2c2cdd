"""Fixed form: the processor masks the end token on the device."""

import torch
import torch.nn as nn


class RepetitionPenalty:
    def __init__(self, penalty: float):
        self.penalty = penalty

    def __call__(self, logits: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        return torch.where(counts > 0, logits / self.penalty, logits)


class MinTokens:
    def __init__(self, minimum: int, end: int):
        self.minimum, self.end = minimum, end

    def __call__(self, logits: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        made = counts.sum(dim=-1)
        ended = torch.where(made < self.minimum, -1e9, logits[:, self.end])
        logits[:, self.end].copy_(ended)
        return logits


def build_pipeline(penalty: float, minimum: int, end: int) -> list:
    stages = []
    if penalty != 1.0:
        stages.append(RepetitionPenalty(penalty))
    if minimum > 0:
        stages.append(MinTokens(minimum, end))
    return stages


class GraphedHead:
    def __init__(self, head: nn.Linear, batch: int, width: int, stages: list):
        self.head, self.stages = head, stages
        self.hidden = torch.zeros(batch, width, device="cuda")
        self.counts = torch.zeros(batch, head.out_features, dtype=torch.int32, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _logits(self) -> torch.Tensor:
        logits = self.head(self.hidden)
        for stage in self.stages:
            logits = stage(logits, self.counts)
        return logits.argmax(-1)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._logits()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.picked = self._logits()

    def __call__(self, hidden: torch.Tensor, counts: torch.Tensor) -> list[int]:
        self.hidden.copy_(hidden)
        self.counts.copy_(counts)
        self.graph.replay()
        return self.picked.tolist()


def make_head(head: nn.Linear, batch: int, width: int) -> GraphedHead:
    made = GraphedHead(head.cuda(), batch, width, build_pipeline(1.2, 4, 2))
    made.capture()
    return made
