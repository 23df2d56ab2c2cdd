"""Clean: the shared expert runs on a side stream that forks and joins inside the capture, statistics
are gathered on the device and read by a reporter between replays.
"""

from contextlib import contextmanager

import torch
import torch.nn as nn


class DualStream:
    def __init__(self):
        self.side = torch.cuda.Stream()
        self.start, self.done = torch.cuda.Event(), torch.cuda.Event()

    @contextmanager
    def on_side(self):
        main = torch.cuda.current_stream()
        self.start.record(main)
        self.side.wait_event(self.start)
        with torch.cuda.stream(self.side):
            yield
        self.done.record(self.side)

    def join(self) -> None:
        torch.cuda.current_stream().wait_event(self.done)


class Load:
    def __init__(self, experts: int):
        self.counts = torch.zeros(experts, dtype=torch.long, device="cuda")

    def note(self, ids: torch.Tensor) -> None:
        flat = ids.flatten()
        self.counts.scatter_add_(0, flat, torch.ones_like(flat))

    def report(self) -> list[int]:
        counts = self.counts.tolist()
        self.counts.zero_()
        return counts


class MixtureBlock(nn.Module):
    def __init__(self, width: int, experts: int, streams: DualStream, load: Load):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.Parameter(torch.zeros(experts, width, width))
        self.shared = nn.Linear(width, width)
        self.streams, self.load = streams, load

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.streams.on_side():
            shared = self.shared(x)
        weights, ids = self.gate(x).softmax(-1).topk(2, dim=-1)
        self.load.note(ids)
        picked = torch.einsum("bd,bkdf->bkf", x, self.experts[ids])
        routed = (weights[..., None] * picked).sum(1)
        self.streams.join()
        return routed + shared


class MixtureRunner:
    def __init__(self, width: int, experts: int, sizes: list[int], report_every: int):
        self.load = Load(experts)
        self.block = MixtureBlock(width, experts, DualStream(), self.load).cuda()
        self.sizes = sorted(sizes)
        self.report_every, self.steps = report_every, 0
        self.x = torch.zeros(self.sizes[-1], width, device="cuda")
        self.graphs, self.outs, self.reports = {}, {}, []

    @torch.no_grad()
    def capture(self) -> None:
        pool = None
        for bs in self.sizes[::-1]:
            for _ in range(2):
                self.block(self.x[:bs])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                self.outs[bs] = self.block(self.x[:bs])
            pool = pool or graph.pool()
            self.graphs[bs] = graph
        self.load.counts.zero_()

    def step(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        bs = next(s for s in self.sizes if s >= n)
        self.x[:n].copy_(x)
        self.x[n:bs].zero_()
        self.graphs[bs].replay()
        self.steps += 1
        if self.steps % self.report_every == 0:
            self.reports.append(self.load.report())
        return self.outs[bs][:n].clone()
