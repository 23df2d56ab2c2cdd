"""The inputs of a captured decoder, and how they are filled."""

import torch


class Inputs:
    def __init__(self, rows):
        self.hidden = torch.zeros(32, 64, device="cuda")
        self.lengths = torch.zeros(32, dtype=torch.int32, device="cuda")
        self.scale = torch.ones(1, device="cuda")

    def load(self, batch):
        self.hidden.copy_(batch[: self.hidden.shape[0]])  # expect: CG108

    def load_as_counted(self, batch):
        self.hidden.copy_(batch[: len(self.hidden)], non_blocking=True)  # expect: CG108

    def load_first(self, batch: torch.Tensor):
        self.hidden.copy_(batch[:32])  # expect: CG108

    def load_all(self, batch):
        self.hidden.copy_(batch)  # ok: CG108

    def load_rows(self, batch, count):
        self.hidden[:count].copy_(batch[:count])  # ok: CG108

    def load_window(self, batch, start):
        self.hidden.copy_(batch[start : start + 32])  # ok: CG108

    def estimate(self):
        self.lengths.copy_(torch.rand(32, device="cuda") * 4)  # expect: CG108

    def number(self):
        self.lengths.copy_(torch.arange(32, device="cuda"))  # ok: CG108

    def spread(self):
        row = torch.rand(1, 64, device="cuda")
        self.hidden.copy_(row)  # expect: CG108

    def rescale(self, factor):
        self.scale.copy_(torch.tensor(0.5))  # ok: CG108
