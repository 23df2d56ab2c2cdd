"""Drawn from differentiable simulation that mixes Warp and Torch (as in NVIDIA/warp discussions).

Symptom: the residual of the solver is looked at through a Torch view of the Warp array: item() within
the captured frame.
"""

import torch
import warp as wp


@wp.kernel
def relax(x: wp.array(dtype=float), b: wp.array(dtype=float), r: wp.array(dtype=float)):
    i = wp.tid()
    r[i] = b[i] - x[i]
    x[i] = x[i] + 0.5 * r[i]


class Relaxation:
    def __init__(self, n: int, most: int = 50, tolerance: float = 1e-5):
        self.n, self.most, self.tolerance = n, most, tolerance
        self.x = wp.zeros(n, dtype=float, device="cuda:0")
        self.b = wp.ones(n, dtype=float, device="cuda:0")
        self.r = wp.zeros(n, dtype=float, device="cuda:0")

    def residual(self) -> torch.Tensor:
        return wp.to_torch(self.r).abs().max()

    def solve(self) -> int:
        for _iteration in range(self.most):
            wp.launch(relax, dim=self.n, inputs=[self.x, self.b, self.r], device="cuda:0")
        return self.most


class Simulation:
    def __init__(self, solver: Relaxation):
        self.solver = solver
        wp.load_module(device="cuda:0")
        with wp.ScopedCapture(device="cuda:0") as capture:
            self.solver.solve()
        self.graph = capture.graph

    def run(self, frames: int) -> float:
        for _ in range(frames):
            wp.capture_launch(self.graph)
        return self.solver.residual().item()
