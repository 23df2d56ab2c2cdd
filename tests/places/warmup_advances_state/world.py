"""State that a step moves on."""

import torch


class Particles:
    def __init__(self, n):
        self.position = torch.zeros(n, 3, device="cuda")
        self.velocity = torch.zeros(n, 3, device="cuda")

    def move(self):
        self.position.add_(self.velocity, alpha=0.01)

    def project(self):
        self.position.copy_(self.velocity * 2)
