"""Explicit time stepping with two buffers, and a solver with its right-hand side in a table."""

import torch


def wave(field: torch.Tensor, steps: int):
    now, before = field.cuda(), field.cuda()
    after = torch.empty_like(now)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        after.copy_(2 * now - before + 0.1 * torch.roll(now, 1))
    for _ in range(steps):
        graph.replay()
        before.copy_(now)  # ok: CG101
        now, after = after, now  # expect: CG101
    return now


class Relaxation:
    def __init__(self, shape):
        self.fields = {name: torch.zeros(shape, device="cuda") for name in ("u", "rhs")}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.fields["u"].add_(self.fields["rhs"], alpha=0.25)

    def solve(self, rhs: torch.Tensor, sweeps: int):
        self.fields["rhs"] = rhs.cuda()  # expect: CG101
        self.fields["u"].zero_()
        for _ in range(sweeps):
            self.graph.replay()
        return self.fields["u"].clone()

    def debug(self, rhs: torch.Tensor):
        self.fields["rhs"] = rhs.cuda()  # graphlint: ignore[CG101] -- the test compares with the old field
        self.graph.replay()
        return self.fields["u"].clone()
