"""Drawn from CuPy solvers that record their iterations as a graph (compare cupy/cupy#4567).

Symptom: the solver stops early by comparing the norm of the residual with a tolerance; the comparison needs the
value on the host, which the capturing stream cannot give.
"""

from __future__ import annotations

import cupy as cp
import numpy as np


class Poisson:
    """Five point stencil on a square grid, homogeneous borders."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.h2 = 1.0 / (n + 1) ** 2

    def apply(self, u: cp.ndarray, out: cp.ndarray) -> None:
        out[...] = 4.0 * u
        out[1:, :] -= u[:-1, :]
        out[:-1, :] -= u[1:, :]
        out[:, 1:] -= u[:, :-1]
        out[:, :-1] -= u[:, 1:]
        out /= self.h2


class Jacobi:
    def __init__(self, operator: Poisson, omega: float = 0.8, iterations: int = 50) -> None:
        self.operator = operator
        self.omega = omega * operator.h2 / 4.0
        self.iterations = iterations
        shape = (operator.n, operator.n)
        self.u = cp.zeros(shape)
        self.f = cp.zeros(shape)
        self.r = cp.zeros(shape)
        self.tolerance = 1e-8

    def sweep(self) -> None:
        for _ in range(self.iterations):
            self.operator.apply(self.u, self.r)
            cp.subtract(self.f, self.r, out=self.r)
            self.u += self.omega * self.r
            if cp.abs(self.r).max() < self.tolerance:  # HAZARD: host-branch-on-device
                break

    def residual(self) -> float:
        return float(cp.abs(self.r).max())


class RecordedSolver:
    def __init__(self, n: int) -> None:
        self.jacobi = Jacobi(Poisson(n))
        self.stream = cp.cuda.Stream(non_blocking=True)
        with self.stream:
            self.jacobi.sweep()
        self.stream.synchronize()
        with self.stream:
            self.stream.begin_capture()
            self.jacobi.sweep()
            self.graph = self.stream.end_capture()

    def solve(self, right: np.ndarray, launches: int = 200) -> np.ndarray:
        with self.stream:
            self.jacobi.f.set(right)
            self.jacobi.u.fill(0.0)
        for _ in range(launches):
            self.graph.launch(self.stream)
            self.stream.synchronize()
            if self.jacobi.residual() < self.jacobi.tolerance:
                break
        return cp.asnumpy(self.jacobi.u)


def main(n: int = 256) -> None:
    solver = RecordedSolver(n)
    x = np.linspace(0, 1, n)
    right = np.sin(np.pi * x)[:, None] * np.sin(np.pi * x)[None, :]
    print(solver.solve(right).max())
