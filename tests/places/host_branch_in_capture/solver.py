"""Iterative solvers that stop when they are done."""

import torch


def conjugate(a: torch.Tensor, b: torch.Tensor, turns: int) -> torch.Tensor:
    x = torch.zeros_like(b)
    r = b - (a * b).sum(-1)
    for turn in range(turns):
        if turn == 0:  # ok: CG401
            x = x + r
        if r.norm() < 1e-6:  # expect: CG401
            break
        x, r = x + 0.1 * r, r * 0.9
    return x


def conjugate_fixed(a: torch.Tensor, b: torch.Tensor, turns: int) -> torch.Tensor:
    x, r = torch.zeros_like(b), b - (a * b).sum(-1)
    for _ in range(turns):
        done = r.norm() < 1e-6
        x = torch.where(done, x, x + 0.1 * r)  # ok: CG401
        r = r * 0.9
    return x


def newton(x: torch.Tensor) -> torch.Tensor:
    while (x * x - 2).abs().max() > 1e-3:  # expect: CG401
        x = x - (x * x - 2) / (2 * x)
    return x


class Simulation:
    def __init__(self, size: int):
        self.a = torch.rand(size, size, device="cuda")
        self.b = torch.rand(size, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.x = self.step()

    def step(self):
        x = newton(conjugate(self.a, self.b, 8)) + conjugate_fixed(self.a, self.b, 8)
        limit = 1.0 if x.dim() == 1 else 2.0  # ok: CG401
        return x * limit

    def run(self):
        self.graph.replay()
        if self.x.isfinite().all():  # ok: CG401
            return self.x.clone()
        raise ArithmeticError("diverged")
