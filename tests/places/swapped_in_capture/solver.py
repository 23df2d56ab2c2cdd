"""Solvers in torch."""

import torch


class Heat:
    def __init__(self, cells: int):
        self.old = torch.zeros(cells, device="cuda")
        self.new = torch.zeros(cells, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(5):
                self.new.copy_(self.old * 0.25)
                self.old, self.new = self.new, self.old  # expect: CG106

    def run(self, steps: int):
        for _ in range(steps):
            self.graph.replay()
        return self.old.clone()


class Copied:
    def __init__(self, cells: int):
        self.old = torch.zeros(cells, device="cuda")
        self.new = torch.zeros(cells, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.new.copy_(self.old * 0.25)
            self.old.copy_(self.new)  # ok: CG106

    def run(self, steps: int):
        for _ in range(steps):
            self.graph.replay()
        return self.old.clone()


class Refilled:
    """The host gives the field anew before each step."""

    def __init__(self, cells: int):
        self.old = torch.zeros(cells, device="cuda")
        self.new = torch.zeros(cells, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.new.copy_(self.old * 0.25)
            self.old, self.new = self.new, self.old  # ok: CG106

    def run(self, fields: list[torch.Tensor]):
        for field in fields:
            self.new.copy_(field)
            self.graph.replay()
        return self.old.clone()


def jacobi(u: torch.Tensor, steps: int):
    now, after = u.cuda(), torch.empty_like(u.cuda())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        after.copy_(0.5 * (torch.roll(now, 1) + torch.roll(now, -1)))
        now, after = after, now  # expect: CG106
    for _ in range(steps):
        graph.replay()
    return now.clone(), after


def jacobi_by_three(u: torch.Tensor, steps: int):
    now, after = u.cuda(), torch.empty_like(u.cuda())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            after.copy_(0.5 * (torch.roll(now, 1) + torch.roll(now, -1)))
            kept = now
            now = after  # expect: CG106
            after = kept
    for _ in range(steps):
        graph.replay()
    return now.clone(), after


def jacobi_by_sweeps(u: torch.Tensor, steps: int, sweeps: int):
    now, after = u.cuda(), torch.empty_like(u.cuda())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(sweeps):
            after.copy_(0.5 * (torch.roll(now, 1) + torch.roll(now, -1)))
            now, after = after, now  # ok: CG106
    for _ in range(steps):
        graph.replay()
    return now.clone(), after


def once(u: torch.Tensor):
    now, after = u.cuda(), torch.empty_like(u.cuda())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        after.copy_(0.5 * now)
        now, after = after, now  # ok: CG106
    graph.replay()
    return now.clone(), after


class TurnTaking:
    def __init__(self, cells: int):
        self.a = torch.zeros(cells, device="cuda")
        self.b = torch.zeros(cells, device="cuda")
        self.there, self.back = self.record(), self.record()

    def record(self):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.b.copy_(self.a * 2)
            self.a, self.b = self.b, self.a  # ok: CG106
        return graph

    def run(self, steps: int):
        for _ in range(steps):
            self.there.replay()
            self.back.replay()
        return self.a.clone()


class Wave:
    def __init__(self, cells: int):
        self.p = torch.zeros(cells, device="cuda")
        self.q = torch.zeros(cells, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.q.copy_(self.p * 0.9)
            self.q, self.p = self.p, self.q  # expect: CG106
        self.probe = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.probe):
            self.q.copy_(self.p * 0.9)
            self.q, self.p = self.p, self.q  # graphlint: ignore[CG106] -- times one step

    def run(self, steps: int):
        for _ in range(steps):
            self.graph.replay()
        for _ in range(steps):
            self.probe.replay()
        return self.p.clone()
