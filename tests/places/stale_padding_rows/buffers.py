"""Inputs of fixed size, filled by batches that differ."""

import torch


class Tokens:
    def __init__(self, most):
        self.rows = torch.zeros(most, 16, device="cuda")
        self.weights = torch.zeros(most, device="cuda")

    def fill(self, batch):
        n = batch.shape[0]
        self.rows[:n].copy_(batch)  # expect: CG109

    def fill_and_clear(self, batch):
        n = batch.shape[0]
        self.rows[:n].copy_(batch)  # ok: CG109
        self.rows[n:].zero_()

    def clear_and_fill(self, batch, n):
        self.rows.zero_()
        self.rows[:n] = batch  # ok: CG109

    def fill_and_weigh(self, batch, n):
        self.rows[:n].copy_(batch)  # ok: CG109
        self.weights.zero_()
        self.weights[:n] = 1
