"""A rigid body step solves with the mass matrix; the solver reads the status of the factorization on the
host."""

import torch


class Articulation:
    def __init__(self, envs, dofs, dt=1e-3):
        self.q = torch.zeros(envs, dofs, device="cuda")
        self.qd = torch.zeros(envs, dofs, device="cuda")
        self.tau = torch.zeros(envs, dofs, device="cuda")
        self.inertia = torch.eye(dofs, device="cuda").expand(envs, dofs, dofs).clone()
        self.dt = dt

    def mass_matrix(self):
        return self.inertia + 0.1 * torch.diag_embed(torch.cos(self.q).square())

    def forward_dynamics(self):
        factor = torch.linalg.cholesky(self.mass_matrix())  # HAZARD: implicit-sync
        return torch.cholesky_solve(self.tau.unsqueeze(-1), factor).squeeze(-1)

    def substep(self):
        self.qd.add_(self.forward_dynamics(), alpha=self.dt)
        self.q.add_(self.qd, alpha=self.dt)


class GraphedPhysics:
    def __init__(self, model, substeps=4):
        self.model, self.substeps = model, substeps
        self.graph = None

    def _advance(self):
        for _ in range(self.substeps):
            self.model.substep()

    @torch.no_grad()
    def build(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            self._advance()
        torch.cuda.current_stream().wait_stream(s)
        self.model.q.zero_()
        self.model.qd.zero_()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._advance()

    def step(self, torque):
        self.model.tau.copy_(torque)
        self.graph.replay()
        return self.model.q.clone()


def main(controller, steps):
    sim = GraphedPhysics(Articulation(64, 7))
    sim.build()
    for _ in range(steps):
        controller.observe(sim.step(controller.torque()))
