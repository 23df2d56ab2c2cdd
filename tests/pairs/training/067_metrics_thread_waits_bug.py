"""A writer thread, started before the capture, waits for the device on its own whenever it writes a
record."""

import queue
import threading

import torch
from torch import nn


class Writer:
    def __init__(self, path):
        self.path, self.queue = path, queue.Queue()
        self.thread = threading.Thread(target=self._drain, daemon=True)
        self.thread.start()

    def _drain(self):
        with open(self.path, "a") as file:
            while True:
                name, value = self.queue.get()
                torch.cuda.synchronize()  # ALT: thread-mode
                file.write(f"{name} {value.item()}\n")

    def put(self, name, value):
        self.queue.put((name, value.clone()))


class Run:
    def __init__(self, net, shape, path):
        self.writer = Writer(path)
        self.net = net
        self.x = torch.zeros(shape, device="cuda")
        self.graph = None

    def body(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss

    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.body()
            torch.cuda.current_stream().wait_stream(side)
            self.writer.put("warm", self.x.sum())
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):  # HAZARD: thread-mode
                self.loss = self.body()
        self.graph.replay()
        self.writer.put("loss", self.loss)


def main(loader):
    run = Run(nn.Linear(8, 8).cuda(), (4, 8), "log.txt")
    for x in loader:
        run.step(x)
