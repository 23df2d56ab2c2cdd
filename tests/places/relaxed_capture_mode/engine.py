"""Engines that silence the errors of their captures."""

import torch
from recorder import recorded

MODE = "relaxed"


def double(x: torch.Tensor):
    return x * 2


def build(x: torch.Tensor):
    return recorded(double, x, "relaxed")


class Engine:
    mode = "relaxed"

    def __init__(self, width: int):
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, capture_error_mode=self.mode):  # expect: CG510
            self.y = self.x * 2

    def step(self):
        self.graph.replay()
        return self.y.clone()


class Threaded:
    def __init__(self, width: int):
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):  # ok: CG510
            self.y = self.x * 2

    def step(self):
        self.graph.replay()
        return self.y.clone()


class Strict:
    def __init__(self, width: int):
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # ok: CG510
            self.y = self.x * 2
        self.other = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.other, capture_error_mode="global"):  # ok: CG510
            self.z = self.x * 3

    def step(self):
        self.graph.replay()
        self.other.replay()
        return self.y + self.z


def by_hand(x: torch.Tensor):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin(capture_error_mode=MODE)  # expect: CG510
        y = x * 2
        graph.capture_end()
    return graph, x, y
