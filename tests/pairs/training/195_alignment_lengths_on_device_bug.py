"""Drawn from speech recipes that capture the encoder together with its CTC loss.

Symptom: the loss takes lengths as tensors; those on the device have to be brought to the host
before the kernel can be launched.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn


class SpeechBatch(NamedTuple):
    features: torch.Tensor
    feature_lengths: torch.Tensor
    tokens: torch.Tensor
    token_lengths: torch.Tensor


def zeros(batch: int, frames: int, labels: int, dim: int) -> SpeechBatch:
    return SpeechBatch(
        torch.zeros(batch, frames, dim, device="cuda"),
        torch.full((batch,), frames, dtype=torch.long, device="cuda"),
        torch.ones(batch, labels, dtype=torch.long, device="cuda"),
        torch.full((batch,), labels, dtype=torch.long, device="cuda"),
    )


class Recipe:
    def __init__(self, encoder: nn.Module, vocabulary: int, dim: int):
        self.encoder = encoder
        self.head = nn.Linear(dim, vocabulary).cuda()
        self.static = zeros(8, 400, 40, dim)
        self.opt = torch.optim.SGD([*encoder.parameters(), *self.head.parameters()], lr=0.1)
        self.graph = torch.cuda.CUDAGraph()

    def objective(self, batch: SpeechBatch) -> torch.Tensor:
        logits = self.head(self.encoder(batch.features))
        log_probs = F.log_softmax(logits, dim=-1).transpose(0, 1)
        return F.ctc_loss(
            log_probs, batch.tokens, batch.feature_lengths, batch.token_lengths
        )  # HAZARD: implicit-sync, sync-in-capture

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.objective(self.static).backward()
        torch.cuda.current_stream().wait_stream(side)
        self.opt.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = self.objective(self.static)
            self.loss.backward()

    def step(self, batch: SpeechBatch) -> None:
        for dst, src in zip(self.static, batch):
            dst.copy_(src)
        self.graph.replay()
        self.opt.step()
