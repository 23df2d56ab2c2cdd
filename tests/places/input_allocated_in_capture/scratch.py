"""Makes tensors for whoever asks, in a capture too."""

import torch


def zeros(rows, width):
    return torch.zeros(rows, width, device="cuda")  # expect: CG606


def bias_of(like):
    return like * 0.5  # ok: CG606
