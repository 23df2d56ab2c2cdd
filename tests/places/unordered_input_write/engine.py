"""Decode loops with inputs that arrive on other streams."""

import torch
from feeding import Feeder
from torch import nn


class Engine:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        self.x = torch.zeros(4, width, device="cuda")
        self.y = torch.zeros(4, width, device="cuda")
        self.mask = torch.ones(4, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.out = self.net(self.x * self.mask + self.y)

    def serve(self, batches):
        early, ordered, masks = Feeder(), Feeder(), torch.cuda.Stream()
        results = []
        for batch in batches:
            early.put(self.x, batch)
            ordered.put_and_record(self.y, batch)
            torch.cuda.current_stream().wait_event(ordered.done)
            with torch.cuda.stream(masks):
                self.mask[0:1] = 0.0  # expect: CG105
            self.graph.replay()
            results.append(self.out.clone())
        return results


class OnStream:
    """Replays on a stream of its own."""

    def __init__(self, width: int):
        self.run = torch.cuda.Stream()
        self.x = torch.zeros(width, device="cuda")
        self.scale = torch.ones(width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * self.scale

    def step(self, batch: torch.Tensor):
        self.x.copy_(batch)  # expect: CG105
        with torch.cuda.stream(self.run):
            self.graph.replay()
        self.run.synchronize()
        return self.y.clone()

    def step_in_order(self, batch: torch.Tensor):
        self.x.copy_(batch)  # ok: CG105
        self.run.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.run):
            self.graph.replay()
        self.run.synchronize()
        return self.y.clone()

    def step_inside(self, batch: torch.Tensor):
        with torch.cuda.stream(self.run):
            self.x.copy_(batch)  # ok: CG105
            self.graph.replay()
        self.run.synchronize()
        return self.y.clone()
