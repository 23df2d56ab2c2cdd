"""Constraint forces are cleared at the joints by assigning a Python number through a tensor of indices,
which copies the number from the host."""

import torch


class Chain:
    def __init__(self, links, pinned):
        self.x = torch.zeros(links, 3, device="cuda")
        self.v = torch.zeros(links, 3, device="cuda")
        self.f = torch.zeros(links, 3, device="cuda")
        self.pinned = torch.as_tensor(pinned, device="cuda")

    def forces(self, stiffness=50.0):
        d = self.x[1:] - self.x[:-1]
        self.f.zero_()
        self.f[:-1].add_(d, alpha=stiffness)
        self.f[1:].sub_(d, alpha=stiffness)
        self.f[self.pinned] = 0.0  # HAZARD: pageable-copy, implicit-sync

    def step(self, dt=1e-3):
        self.forces()
        self.v.add_(self.f, alpha=dt)
        self.x.add_(self.v, alpha=dt)


def graph_of(chain):
    keep = [t.clone() for t in (chain.x, chain.v)]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(1):
            chain.step()
    torch.cuda.current_stream().wait_stream(side)
    for t, old in zip((chain.x, chain.v), keep, strict=False):
        t.copy_(old)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chain.step()
    return graph


def main(frames):
    chain = Chain(64, [0, 63])
    graph = graph_of(chain)
    for _ in range(frames):
        graph.replay()
    return chain.x.cpu()
