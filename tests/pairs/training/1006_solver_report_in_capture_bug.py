"""Source: newton-physics/newton#3155.

Symptom: whole-step capture fails with error 906 as soon as the iterative solver is chosen: the solver hands its iteration
count and residual out as device arrays, and the wrapper reads them at once.
"""

import warp as wp
from warp.optim.linear import cg


@wp.kernel
def build_rhs(
    vel: wp.array(dtype=float), force: wp.array(dtype=float), dt: float, rhs: wp.array(dtype=float)
):
    i = wp.tid()
    rhs[i] = vel[i] + force[i] * dt


class ConjugateGradient:
    name = "cg"

    def __init__(self, matrix, tolerance, max_iterations):
        self.matrix, self.tolerance, self.max_iterations = matrix, tolerance, max_iterations

    def solve(self, rhs, x):
        end_iter, residual, _ = cg(
            self.matrix,
            rhs,
            x,
            tol=self.tolerance,
            maxiter=self.max_iterations,
            check_every=0,
            use_cuda_graph=True,
        )
        return end_iter.numpy()[0], residual.numpy()[0]  # HAZARD: implicit-sync


SOLVERS = {solver.name: solver for solver in (ConjugateGradient,)}


class ImplicitStep:
    def __init__(self, matrix, n, kind="cg", dt=1e-3):
        self.linear = SOLVERS[kind](matrix, 1e-6, 50)
        self.vel = wp.zeros(n, dtype=float, device="cuda:0")
        self.force = wp.zeros(n, dtype=float, device="cuda:0")
        self.rhs = wp.zeros(n, dtype=float, device="cuda:0")
        self.n, self.dt = n, dt

    def step(self):
        wp.launch(
            build_rhs, dim=self.n, inputs=[self.vel, self.force, self.dt], outputs=[self.rhs], device="cuda:0"
        )
        self.report = self.linear.solve(self.rhs, self.vel)

    def capture(self):
        self.step()
        with wp.ScopedCapture(device="cuda:0") as capture:
            self.step()
        self.graph = capture.graph

    def run(self, frames):
        for _ in range(frames):
            wp.capture_launch(self.graph)
