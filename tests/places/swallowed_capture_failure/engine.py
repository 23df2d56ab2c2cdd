"""Engines that try to capture and go on eagerly when that fails."""

import logging

import torch
from layers import Dropped, Noisy, Plain

log = logging.getLogger(__name__)


class Optional:
    def __init__(self, width: int):
        self.net = Noisy(width).cuda()
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = None
        self.net(self.x)
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = self.net(self.x)
            self.graph = graph
        except RuntimeError:  # expect: CG508
            log.warning("runs without a graph")

    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        if self.graph is None:
            return self.net(self.x)
        self.graph.replay()
        return self.y.clone()


class Strict:
    def __init__(self, width: int):
        self.net = Noisy(width).cuda()
        self.x = torch.zeros(4, width, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(self.graph):
                self.y = self.net(self.x)
        except RuntimeError as error:  # ok: CG508
            raise SystemExit("this model cannot be captured") from error

    def step(self):
        self.graph.replay()
        return self.y.clone()


class Deterministic:
    def __init__(self, width: int):
        self.net = Plain(width).cuda()
        self.x = torch.zeros(4, width, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(self.graph):
                self.y = self.net(self.x)
        except RuntimeError:  # ok: CG508
            self.graph = None

    def step(self):
        if self.graph is None:
            return self.net(self.x)
        self.graph.replay()
        return self.y.clone()


def evaluate(width: int):
    net = Dropped(width).cuda().eval()
    x = torch.zeros(4, width, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            y = net(x)
    except RuntimeError:  # ok: CG508
        y = net(x)
    return graph, x, y


def train(width: int):
    net = Dropped(width).cuda()
    x = torch.zeros(4, width, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            y = net(x)
    except Exception:  # expect: CG508
        graph, y = None, net(x)
    return graph, x, y


def seeded(width: int):
    net = Plain(width).cuda()
    x = torch.zeros(4, width, device="cuda")
    generator = torch.Generator(device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    try:
        with torch.cuda.graph(graph):
            y = net(x) + torch.randn(4, width, device="cuda", generator=generator)
    except RuntimeError:  # ok: CG508
        graph, y = None, net(x)
    return graph, x, y
