"""Engines with overlap inside their graphs."""

import torch
from streams import JoinedStream, SideStream, offload
from torch import nn


def scaled(x: torch.Tensor, factor: float):
    return x * factor


class Engine:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.side = SideStream()
        self.joined = JoinedStream()
        self.copies = torch.cuda.Stream()
        self.host = torch.zeros(4, width, pin_memory=True)
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.a = self.side.run(scaled, self.x, 2.0)
            self.b = self.joined.run(scaled, self.x, 3.0)
            self.y = self.net(self.x)
            offload(self.y, self.host, self.copies)

    def run(self, x):
        self.x.copy_(x)
        with torch.cuda.stream(self.copies):  # ok: CG506
            self.host.zero_()
        self.graph.replay()
        return self.y.clone()


class Experts:
    def __init__(self, width: int, count: int):
        self.experts = [nn.Linear(width, width).cuda() for _ in range(count)]
        self.streams = [torch.cuda.Stream() for _ in range(count)]
        self.x = torch.zeros(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.experts[0](self.x)
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        main = torch.cuda.current_stream()
        outs = []
        for expert, stream in zip(self.experts, self.streams):
            stream.wait_stream(main)
            with torch.cuda.stream(stream):  # ok: CG506
                outs.append(expert(self.x))
        for stream in self.streams:
            main.wait_stream(stream)
        return sum(outs)

    def run(self):
        self.graph.replay()
        return self.y.clone()
