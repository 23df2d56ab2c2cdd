"""Sequences in one packed tensor are taken apart by their lengths inside the captured loss; each token
knows its sequence by a search in the cumulated lengths."""

import torch
from torch import nn


def per_sequence(values, lengths):
    position = torch.arange(values.shape[0], device=values.device)
    row = torch.searchsorted(lengths.cumsum(0), position, right=True).clamp_(max=lengths.shape[0] - 1)
    total = torch.zeros_like(lengths, dtype=values.dtype).index_add(0, row, values)
    return total / lengths


class PackedLoss(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, 1)

    def forward(self, tokens, lengths):
        return per_sequence(self.score(tokens).squeeze(-1), lengths).square().mean()


class Update:
    def __init__(self, module, total, rows, width):
        self.module = module
        self.tokens = torch.zeros(total, width, device="cuda")
        self.lengths = torch.full((rows,), total // rows, device="cuda")

    def run(self):
        self.module.zero_grad(set_to_none=True)
        loss = self.module(self.tokens, self.lengths)
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        self.graph.capture_begin()
        try:
            self.loss = self.run()
        finally:
            self.graph.capture_end()


def main():
    with torch.cuda.stream(torch.cuda.Stream()):
        update = Update(PackedLoss(16).cuda(), 256, 8, 16)
        update.capture()
    return update
