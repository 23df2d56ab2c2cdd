"""Fixed form: the states are a result of the captured pass, and are cloned with the logits."""

import torch
import torch.nn as nn


class AuxCollector:
    def __init__(self, layers: set[int]):
        self.layers = layers

    def wanted(self, index: int) -> bool:
        return index in self.layers


class Target(nn.Module):
    def __init__(self, vocab: int, width: int, depth: int, collector: AuxCollector):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, vocab)
        self.collector = collector

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.embed(ids)
        states = []
        for i, block in enumerate(self.blocks):
            x = torch.relu(block(x))
            if self.collector.wanted(i):
                states.append(x)
        return self.head(x), torch.cat(states, dim=-1)


class VerifyRunner:
    def __init__(self, vocab: int, width: int, depth: int, batch: int):
        self.collector = AuxCollector({0, depth // 2, depth - 1})
        self.target = Target(vocab, width, depth, self.collector).cuda()
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.target(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits, self.aux = self.target(self.ids)

    def verify(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.ids.copy_(ids)
        self.graph.replay()
        return self.logits.clone(), self.aux.clone()
