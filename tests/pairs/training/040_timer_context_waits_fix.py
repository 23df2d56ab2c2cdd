"""The replay as a whole is timed by a context manager that waits for its event on the way out."""

import contextlib
from collections import defaultdict

import torch
from torch import nn


class PhaseTimer:
    def __init__(self):
        self.total = defaultdict(float)

    @contextlib.contextmanager
    def phase(self, name):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        yield
        end.record()
        end.synchronize()
        self.total[name] += start.elapsed_time(end)


class TimedTrainer:
    def __init__(self, net, x):
        self.net, self.x = net, x.clone()
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.timer = PhaseTimer()
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        loss = self.net(self.x).mean()
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()

    def prepare(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.step()

    def __call__(self, x):
        self.x.copy_(x)
        with self.timer.phase("replay"):
            self.graph.replay()


def main():
    trainer = TimedTrainer(nn.Linear(8, 8).cuda(), torch.zeros(2, 8, device="cuda"))
    trainer.prepare()
    return trainer
