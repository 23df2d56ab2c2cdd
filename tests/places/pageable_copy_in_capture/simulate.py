"""Boundary conditions of a solver, given as Python numbers and host arrays."""

import torch


class Channel:
    def __init__(self, cells: int):
        self.u = torch.zeros(cells, device="cuda")
        self.inflow = torch.linspace(0.0, 1.0, cells)
        self.pinned = torch.zeros(cells).pin_memory()
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.step()

    def step(self):
        self.u[0] = 1.0  # expect: CG306
        self.u[0:1] = 1.0  # ok: CG306
        self.u[-1:].fill_(0.0)  # ok: CG306
        self.u.add_(self.inflow.cuda())  # expect: CG306
        self.u.copy_(self.pinned, non_blocking=True)  # ok: CG306
        self.u.copy_(
            self.inflow
        )  # graphlint: ignore[CG306] -- only when the host array is pinned by the caller

    def run(self):
        self.graph.replay()
        return self.u.cpu()
