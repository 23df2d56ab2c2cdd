"""Solvers that are given another scheme while they run."""

import torch


def upwind(u):
    return u - torch.roll(u, 1)


def central(u):
    return 0.5 * (torch.roll(u, -1) - torch.roll(u, 1))


class Solver:
    def __init__(self, scheme):
        self.scheme = scheme
        self.filter = torch.relu
        self.u = torch.zeros(64, device="cuda")
        self.graph = None

    def advance(self):
        return self.u - 0.1 * self.filter(self.scheme(self.u))

    def capture(self):
        self.advance()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.following = self.advance()


def changed(steps: int):
    solver = Solver(upwind)
    solver.capture()
    for _ in range(steps):
        solver.graph.replay()
    solver.scheme = central  # expect: CG406
    for _ in range(steps):
        solver.graph.replay()


def changed_and_captured(steps: int):
    solver = Solver(upwind)
    solver.capture()
    for _ in range(steps):
        solver.graph.replay()
    solver.scheme = central  # ok: CG406
    solver.capture()
    for _ in range(steps):
        solver.graph.replay()


def chosen_before(steps: int):
    solver = Solver(upwind)
    solver.scheme = central  # ok: CG406
    solver.capture()
    for _ in range(steps):
        solver.graph.replay()


def chosen_again(steps: int):
    solver = Solver(upwind)
    solver.capture()
    for _ in range(steps):
        solver.graph.replay()
        solver.scheme = upwind  # ok: CG406


class Watched:
    def __init__(self, net: torch.nn.Linear):
        self.net = net
        self.log: list = []
        self.x = torch.zeros(8, 8, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def observe(self):
        self.net.register_forward_pre_hook(lambda module, given: self.log.append(1))  # expect: CG406

    def record(self):
        self.net.register_forward_hook(
            lambda *given: self.log.append(2)
        )  # graphlint: ignore[CG406] -- eager calls only

    def run(self):
        self.graph.replay()
        return self.y.clone()


def observed():
    watched = Watched(torch.nn.Linear(8, 8).cuda())
    watched.observe()
    watched.run()
    watched.record()
    watched.run()


class Pipeline:
    def __init__(self):
        self.first, self.second = upwind, central
        self.u = torch.zeros(64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.v = self.second(self.first(self.u))

    def swap(self):
        self.first = central  # expect: CG406

    def run(self):
        self.graph.replay()
        return self.v.clone()


def swapped():
    pipeline = Pipeline()
    pipeline.run()
    pipeline.swap()
    return pipeline.run()
