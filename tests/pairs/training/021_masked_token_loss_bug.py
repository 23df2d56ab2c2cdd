"""A masked language model averages the loss over the selected tokens only by indexing with the mask: the
number of rows depends on device data."""

import torch
from torch import nn


class MaskedHead(nn.Module):
    def __init__(self, width, vocab):
        super().__init__()
        self.proj = nn.Linear(width, vocab)

    def forward(self, hidden, labels, chosen):
        logits = self.proj(hidden[chosen])  # HAZARD: dynamic-shape
        return nn.functional.cross_entropy(logits, labels[chosen])  # HAZARD: dynamic-shape


class StepGraph:
    def __init__(self, head, tokens, width):
        self.head = head
        self.inputs = {
            "hidden": torch.zeros(tokens, width, device="cuda"),
            "labels": torch.zeros(tokens, dtype=torch.int64, device="cuda"),
            "chosen": torch.ones(tokens, dtype=torch.bool, device="cuda"),
        }

    def body(self):
        self.head.zero_grad(set_to_none=True)
        loss = self.head(**self.inputs)
        loss.backward()
        return loss

    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.body()
        torch.cuda.current_stream().wait_stream(s)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.body()

    def __call__(self, **batch):
        for name, value in batch.items():
            self.inputs[name].copy_(value)
        self.graph.replay()
        return self.loss.clone()


def main():
    graph = StepGraph(MaskedHead(64, 1000).cuda(), 128, 64)
    graph.capture()
    return graph
