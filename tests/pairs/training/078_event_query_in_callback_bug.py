"""A throttle asks an event whether the device is far behind; the question is asked by a callback of the
captured step."""

import torch
from torch import nn


class Throttle:
    def __init__(self, depth=2):
        self.events = [torch.cuda.Event() for _ in range(depth)]
        self.at = 0

    def tick(self):
        event = self.events[self.at]
        if not event.query():  # HAZARD: sync-in-capture
            event.synchronize()  # ALT: sync-in-capture
        event.record()
        self.at = (self.at + 1) % len(self.events)


class Engine:
    def __init__(self, net, x):
        self.net, self.x = net, x.clone()
        self.observers = {}

    def on(self, name, fn):
        self.observers.setdefault(name, []).append(fn)

    def emit(self, name):
        for fn in self.observers.get(name, ()):
            fn()

    def body(self):
        self.emit("start")
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.emit("end")
        return loss

    def build(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.body()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.body()

    def step(self):
        self.graph.replay()
        self.emit("replayed")


def main():
    engine = Engine(nn.Linear(4, 4).cuda(), torch.zeros(2, 4, device="cuda"))
    engine.on("end", Throttle().tick)
    engine.build()
    return engine
