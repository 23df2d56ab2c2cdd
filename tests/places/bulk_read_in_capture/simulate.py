"""A contact solver: pairs are found on the device and looked at on the host."""

import torch
from metrics import histogram, histogram_on_device, observe


class Contacts:
    def __init__(self, bodies: int):
        self.bodies = torch.rand(bodies, 3, device="cuda")
        self.radii = torch.ones(bodies)
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.forces = self.step()

    def step(self):
        unit = observe(self.bodies)
        near = torch.cdist(unit, unit).argmin(dim=1)
        order = sorted(near.cpu().numpy())  # expect: CG303
        radii = self.radii.numpy()  # ok: CG303
        shape = list(unit.shape)  # ok: CG303
        histogram(unit)
        bins = histogram_on_device(unit)
        first = unit[0].cpu()  # graphlint: ignore[CG303] -- replaced by a hook in tests
        return unit * len(shape) * bins[0], first, order, radii

    def run(self):
        self.graph.replay()
        return self.forces[0].tolist()  # ok: CG303
