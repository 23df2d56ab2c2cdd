"""Fixed form: the message names the shape only."""

import logging

import torch
import torch.nn as nn

logger = logging.getLogger("sampler")


class Chooser(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.head = nn.Linear(width, vocab)

    def report(self, name: str, value: torch.Tensor) -> None:
        logger.info(f"{name}: {tuple(value.shape)}")

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        entropy = -(self.head(hidden).softmax(-1) * self.head(hidden).log_softmax(-1)).sum(-1)
        self.report("entropy", entropy)
        return self.head(hidden).argmax(-1)


class ChooserGraph:
    def __init__(self, vocab: int, width: int, batch: int):
        self.chooser = Chooser(vocab, width).cuda()
        self.hidden = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.chooser(self.hidden)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.chooser(self.hidden)

    def choose(self, hidden: torch.Tensor) -> list[int]:
        self.hidden.copy_(hidden)
        self.graph.replay()
        return self.tokens.tolist()
