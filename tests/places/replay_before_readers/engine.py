"""Engines that copy results while the next step runs."""

import torch
from copies import Fetcher


def serve(batches):
    fetcher, x = Fetcher(), torch.zeros(16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    for batch in batches:
        x.copy_(batch)
        graph.replay()  # expect: CG203
        fetcher.fetch(y)
    torch.cuda.synchronize()
    return fetcher.host


def serve_in_order(batches):
    fetcher, x = Fetcher(), torch.zeros(16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    for batch in batches:
        x.copy_(batch)
        fetcher.finish()
        graph.replay()  # ok: CG203
        fetcher.fetch(y)
    torch.cuda.synchronize()
    return fetcher.host


class Pipeline:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.copy = torch.cuda.Stream()
        self.copied = torch.cuda.Event()
        self.host = torch.zeros(width, pin_memory=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def run(self, batches):
        for batch in batches:
            self.x.copy_(batch)
            self.graph.replay()  # expect: CG203
            self.copy.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.copy):
                self.host.copy_(self.y, non_blocking=True)

    def run_in_order(self, batches):
        for batch in batches:
            self.x.copy_(batch)
            self.copied.wait()
            self.graph.replay()  # ok: CG203
            self.copy.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.copy):
                self.host.copy_(self.y, non_blocking=True)
                self.copied.record()

    def run_and_wait(self, batches):
        for batch in batches:
            self.x.copy_(batch)
            self.graph.replay()  # ok: CG203
            self.copy.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.copy):
                self.host.copy_(self.y, non_blocking=True)
            self.copy.synchronize()
