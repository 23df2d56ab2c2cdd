"""After structured output with asynchronous scheduling.

Symptom: the grammar writes the mask of the next step into the same pinned rows, while the copy that the
last step has queued may not have read them; a request is masked with the rules of its next token.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn as nn


class Grammar:
    def __init__(self, vocabulary: int):
        self.words = (vocabulary + 31) // 32
        self.state = 0

    def fill(self, row: np.ndarray) -> None:
        row[:] = np.bitwise_not(np.int32(self.state))  # HAZARD: stale-pointer, other

    def advance(self, token: int) -> None:
        self.state = (self.state * 31 + token) & 0x7FFFFFFF


class MaskBuffer:
    def __init__(self, batch: int, words: int):
        self.host = torch.zeros(batch, words, dtype=torch.int32, pin_memory=True)
        self.rows = self.host.numpy()
        self.device = torch.zeros(batch, words, dtype=torch.int32, device="cuda")
        self.copied = torch.cuda.Event()

    def upload(self) -> None:
        self.device.copy_(self.host, non_blocking=True)
        self.copied.record()


class ConstrainedDecoder:
    def __init__(self, model: nn.Module, vocabulary: int, batch: int):
        self.model = model
        self.masks = MaskBuffer(batch, (vocabulary + 31) // 32)
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.bits = torch.arange(32, dtype=torch.int32, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _decode(self) -> torch.Tensor:
        logits = self.model(self.ids)
        allowed = (self.masks.device[:, :, None] >> self.bits) & 1
        logits = logits.masked_fill(allowed.flatten(1)[:, : logits.shape[-1]] == 0, float("-inf"))
        return logits.argmax(-1)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._decode()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.next_ids = self._decode()

    @torch.inference_mode()
    def steps(self, ids: torch.Tensor, grammars: list[Grammar], count: int):
        self.ids.copy_(ids)
        for _ in range(count):
            for row, grammar in enumerate(grammars):
                grammar.fill(self.masks.rows[row])  # ALT: stale-pointer, other
            self.masks.upload()
            self.graph.replay()
            self.ids.copy_(self.next_ids)
        return self.next_ids.clone()
