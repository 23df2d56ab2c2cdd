"""Captures that wait for the work of others."""

import torch


class Step:
    def __init__(self, size: int):
        self.main = torch.cuda.current_stream()
        self.side = torch.cuda.Stream()
        self.idle = torch.cuda.Event()
        self.done = torch.cuda.Event()
        self.x = torch.zeros(size, device="cuda")
        self.done.record()
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            torch.cuda.current_stream().wait_stream(self.main)  # expect: CG507
            self.done.wait()  # expect: CG507
            self.idle.wait()  # ok: CG507
            self.side.wait_stream(torch.cuda.current_stream())  # ok: CG507
            with torch.cuda.stream(self.side):
                self.x.mul_(2.0)
            torch.cuda.current_stream().wait_stream(self.side)  # ok: CG507

    def run(self):
        self.graph.replay()
        self.main.wait_stream(self.side)  # ok: CG507
        return self.x.clone()


def exchange(halo: torch.Tensor, field: torch.Tensor):
    halo, field, border = halo.cuda(), field.cuda(), torch.cuda.Stream()
    received = torch.cuda.Event()
    with torch.cuda.stream(border):
        halo.mul_(0.5)
    received.record(border)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.cuda.current_stream().wait_event(received)  # expect: CG507
        field.add_(halo)
    return graph, halo, field


def exchange_before(halo: torch.Tensor, field: torch.Tensor):
    halo, field, border = halo.cuda(), field.cuda(), torch.cuda.Stream()
    received = torch.cuda.Event()
    with torch.cuda.stream(border):
        halo.mul_(0.5)
    received.record(border)
    torch.cuda.current_stream().wait_event(received)  # ok: CG507
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        field.add_(halo)
    return graph, halo, field


def on_a_fork(x: torch.Tensor):
    x, side, outside = x.cuda(), torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(outside):
        x.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        side.wait_stream(torch.cuda.current_stream())
        side.wait_stream(outside)  # expect: CG507
        with torch.cuda.stream(side):
            y = x * 2
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.current_stream().wait_stream(outside)  # graphlint: ignore[CG507] -- shown in the guide
    return graph, x, y
