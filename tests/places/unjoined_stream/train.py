"""Backward passes with copies and reductions beside them."""

import torch


class Overlap:
    def __init__(self, size: int):
        self.reduce = torch.cuda.Stream()
        self.meter = torch.cuda.Stream()
        self.relay = torch.cuda.Stream()
        self.forked = torch.cuda.Event()
        self.gradient = torch.zeros(size, device="cuda")
        self.total = torch.zeros((), device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step()

    def step(self):
        self.gradient.mul_(0.5)
        self.forked.record()
        with torch.cuda.stream(self.reduce):  # ok: CG506
            self.reduce.wait_event(self.forked)
            self.gradient.add_(1.0)
        with torch.cuda.stream(self.meter):  # expect: CG506
            self.meter.wait_event(self.forked)
            self.total.add_(1.0)
        torch.cuda.current_stream().wait_stream(self.reduce)
        self.relay.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.relay):  # ok: CG506
            self.gradient.mul_(2.0)
        torch.cuda.current_stream().wait_stream(self.relay)

    def run(self):
        self.graph.replay()


def late(x: torch.Tensor):
    x, side = x.cuda(), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):  # ok: CG506
            a = x * 2
        main.wait_stream(side)
        with torch.cuda.stream(side):  # expect: CG506
            b = a * 2
    return graph, x, a, b


def only_forked(x: torch.Tensor):
    x, side = x.cuda(), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # expect: CG506
            y = torch.relu(x)
        z = x + 1
    return graph, x, y, z


def debugging(x: torch.Tensor):
    x, side = x.cuda(), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # graphlint: ignore[CG506] -- shows the driver's message
            y = torch.relu(x)
    return graph, x, y


def chained(x: torch.Tensor):
    x, one, two = x.cuda(), torch.cuda.Stream(), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        one.wait_stream(main)
        with torch.cuda.stream(one):  # ok: CG506
            a = x * 2
        two.wait_stream(one)
        with torch.cuda.stream(two):  # expect: CG506
            b = a * 2
        main.wait_stream(one)
    return graph, x, a, b
