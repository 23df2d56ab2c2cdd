"""Simulators that capture beside their own threads."""

import torch


class World:
    def __init__(self, bodies: int, safe: bool = False):
        self.state = torch.zeros(bodies, 6, device="cuda")
        self.stream = torch.cuda.Stream()
        options = {"stream": self.stream, "capture_error_mode": "relaxed"}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, **options):  # expect: CG510
            self.state.mul_(0.99)
        self.reset = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.reset, stream=self.stream, capture_error_mode="relaxed"):  # expect: CG510
            self.state.zero_()
        self.probe = torch.cuda.CUDAGraph()
        with torch.cuda.graph(
            self.probe, capture_error_mode="relaxed"
        ):  # graphlint: ignore[CG510] -- needed by X
            self.total = self.state.sum()

    def run(self, steps: int):
        self.reset.replay()
        for _ in range(steps):
            self.graph.replay()
        self.probe.replay()
        return self.total.item()


def guarded(x: torch.Tensor):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin(capture_error_mode="thread_local")  # ok: CG510
        y = x * 2
        graph.capture_end()
    return graph, x, y


def overlapping(x: torch.Tensor):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, None, None, "relaxed"):  # expect: CG510
        y = x * 2
    return graph, x, y


def graphed(net: torch.nn.Module, x: torch.Tensor):
    return torch.cuda.make_graphed_callables(net, (x.cuda(),))  # ok: CG510
