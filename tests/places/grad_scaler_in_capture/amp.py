"""Helpers around a gradient scaler."""

import torch


class Amp:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def backward(self, loss: torch.Tensor):
        self.scaler.scale(loss).backward()  # ok: CG808

    def update(self, optimizer: torch.optim.Optimizer):
        self.scaler.step(optimizer)  # expect: CG808
        self.scaler.update()  # expect: CG808
