"""Steps that begin by waiting for their input."""

import torch
from copies import Prefetcher
from torch import nn


class Engine:
    def __init__(self, width: int, host: torch.Tensor):
        self.net = nn.Linear(width, width).cuda()
        self.events, self.streams, self.outside = Prefetcher(width), Prefetcher(width), Prefetcher(width)
        for prefetcher in (self.events, self.streams, self.outside):
            prefetcher.fetch(host)
        torch.cuda.current_stream().wait_stream(self.streams.stream)  # ok: CG507
        self.net(self.events.buffer)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.events.wait()
            self.streams.join()
            self.outside.wait_outside()
            self.y = self.net(self.events.buffer + self.streams.buffer)

    def run(self, host: torch.Tensor):
        self.events.fetch(host)
        torch.cuda.current_stream().wait_event(self.events.ready)  # ok: CG507
        self.graph.replay()
        return self.y.clone()
