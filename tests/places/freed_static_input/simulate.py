"""Graphs of a simulator, one for each scene."""

import torch
from tables import decayed, gathered


class Scene:
    def __init__(self, bodies: int):
        self.state = torch.zeros(bodies, 6, device="cuda")
        self.gravity = torch.tensor([0.0, 0.0, -9.81], device="cuda")  # ok: CG103
        self.order = list(range(bodies))

    def capture(self, steps: int):
        damping = torch.linspace(1.0, 0.0, steps, device="cuda")  # expect: CG103
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.state[:, 3:] += decayed(self.state[:, 3:] + self.gravity, damping)
        self.graph = graph

    def reorder(self):
        self.sorter, self.sorted = gathered(self.state, self.order)

    def run(self):
        self.graph.replay()
        return self.state.clone()


class Springs:
    def __init__(self, count: int):
        self.kept = []
        self.count = count

    def capture(self, x: torch.Tensor):
        rest = torch.ones(self.count, device="cuda")  # ok: CG103
        stiffness = torch.full((self.count,), 50.0, device="cuda")  # expect: CG103
        noise = torch.zeros(self.count, device="cuda")  # graphlint: ignore[CG103] -- only zeros
        self.kept.append(rest)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.force = stiffness * (rest - x) + noise
        self.x = x


class Probe:
    def __init__(self, width: int):
        self.width = width

    def energy(self):
        weights = torch.ones(self.width, device="cuda")  # ok: CG103
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            total = weights * 0.5
        graph.replay()
        return total.cpu()


GRAPHS = {}


def register(name: str, width: int):
    window = torch.hann_window(width, device="cuda")  # expect: CG103
    signal = torch.zeros(width, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tapered = signal * window
    GRAPHS[name] = (graph, signal, tapered)
