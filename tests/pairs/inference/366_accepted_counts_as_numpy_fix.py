"""Source: NVIDIA/TensorRT-LLM#9040, sgl-project/sglang#16321 (spec overlap)

Fixed form: an event behind the replay is awaited before the counts are read.
"""

import numpy as np
import torch
import torch.nn as nn


class VerifyWorker:
    def __init__(self, target: nn.Module, batch: int, draft: int):
        self.target = target.cuda().eval()
        self.draft_tokens = torch.zeros(batch, draft, dtype=torch.long, device="cuda")
        self.accepted_host = torch.zeros(batch, dtype=torch.long, pin_memory=True)
        self.accepted: np.ndarray = self.accepted_host.numpy()
        self.done = torch.cuda.Event()
        self.graph = torch.cuda.CUDAGraph()

    def _verify(self) -> torch.Tensor:
        predicted = self.target(self.draft_tokens).argmax(dim=-1)
        match = (predicted[:, :-1] == self.draft_tokens[:, 1:]).long()
        self.accepted_host.copy_(match.cumprod(dim=1).sum(dim=1), non_blocking=True)
        return predicted

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._verify()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.predicted = self._verify()

    def round(self, draft_tokens: torch.Tensor) -> list[torch.Tensor]:
        self.draft_tokens.copy_(draft_tokens)
        self.graph.replay()
        self.done.record()
        rows = self.predicted.clone()
        self.done.synchronize()
        return [rows[i, : self.accepted[i] + 1] for i in range(len(self.accepted))]
