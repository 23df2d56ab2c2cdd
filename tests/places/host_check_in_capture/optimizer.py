"""A captured update with its numerics in another file."""

import torch
from numerics import close_on_device, converged, precondition, precondition_unchecked, whiten


class Newton:
    def __init__(self, size: int):
        self.gradient = torch.zeros(size, size, device="cuda")
        self.covariance = torch.eye(size, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.out = self.step()

    def step(self):
        direction = precondition(self.gradient, self.covariance)
        direction = direction + precondition_unchecked(self.gradient, self.covariance)
        direction = whiten(direction)
        inverse = torch.linalg.inv(self.covariance)  # expect: CG307
        pseudo = torch.linalg.pinv(
            self.covariance
        )  # graphlint: ignore[CG307] -- replaced in the next release
        self.done = converged(direction, inverse)
        return direction @ inverse @ pseudo, close_on_device(direction, inverse)
