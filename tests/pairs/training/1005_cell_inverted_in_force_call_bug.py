"""Source: pytorch/pytorch#96632 (a linear solve ends the capture), seen from a periodic molecular-dynamics step.

Symptom: capturing the velocity-Verlet step fails: the minimum-image function inverts the cell matrix, and the inverse checks
for a singular matrix on the host.
"""

import torch
from torch import nn


def wrap(vectors, cell):
    fractional = vectors @ cell.inverse()  # HAZARD: implicit-sync
    return (fractional - fractional.round()) @ cell


class PairPotential(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.epsilon = nn.Parameter(torch.ones(n))
        self.register_buffer("self_mask", torch.eye(n, dtype=torch.bool))

    def forward(self, pos, cell):
        rij = wrap(pos[:, None] - pos[None], cell)
        r2 = rij.square().sum(-1).masked_fill(self.self_mask, 1e6)
        inv6 = r2.reciprocal() ** 3
        return 2.0 * (self.epsilon[:, None] * (inv6.square() - inv6)).sum()


class NVE:
    def __init__(self, model, pos, cell, dt=1e-3):
        self.model, self.dt = model.cuda(), dt
        self.pos = pos.cuda().requires_grad_(True)
        self.vel = torch.zeros_like(pos, device="cuda")
        self.cell = cell.cuda()

    def forces(self):
        energy = self.model(self.pos, self.cell)
        (grad,) = torch.autograd.grad(energy, self.pos)
        return energy.detach(), -grad

    def step(self):
        energy, f = self.forces()
        with torch.no_grad():
            self.vel.add_(f, alpha=self.dt)
            self.pos.add_(self.vel, alpha=self.dt)
        return energy

    def record(self):
        saved = self.pos.detach().clone(), self.vel.clone()
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(s)
        with torch.no_grad():
            self.pos.copy_(saved[0])
            self.vel.copy_(saved[1])
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.energy = self.step()

    def run(self, steps):
        for _ in range(steps):
            self.graph.replay()
        return self.energy.item()
