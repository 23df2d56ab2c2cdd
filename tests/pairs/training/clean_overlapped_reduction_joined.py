"""Clean: gradients of two halves are reduced on a communication stream that forks from and joins the capture; the
loss goes to a logger after the replay, host facts while capturing."""

import logging

import torch
import torch.distributed as dist
from torch import nn

log = logging.getLogger(__name__)


class Overlapped:
    def __init__(self, halves):
        self.halves = halves
        self.stream = torch.cuda.Stream()

    def reduce(self, index):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for p in self.halves[index].parameters():
                dist.all_reduce(p.grad)

    def join(self):
        torch.cuda.current_stream().wait_stream(self.stream)


class Run:
    def __init__(self, width, batch):
        self.halves = nn.ModuleList([nn.Linear(width, width), nn.Linear(width, 1)]).cuda()
        self.reducer = Overlapped(self.halves)
        self.opt = torch.optim.SGD(self.halves.parameters(), lr=0.1)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self):
        log.info("step on %s with %d halves", tuple(self.x.shape), len(self.halves))
        self.opt.zero_grad(set_to_none=True)
        hidden = self.halves[0](self.x)
        loss = self.halves[1](torch.relu(hidden)).square().mean()
        loss.backward()
        for index in range(len(self.halves)):
            self.reducer.reduce(index)
        self.reducer.join()
        self.opt.step()
        return loss.detach()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = self._step()

    def fit(self, loader, every=20):
        for index, x in enumerate(loader):
            self.x.copy_(x)
            self.graph.replay()
            if index % every == 0:
                log.info("loss %.4f", self.loss.item())

    def close(self):
        self.graph.reset()
        dist.destroy_process_group()


def main(loader):
    run = Run(16, 8)
    run.capture()
    run.fit(loader)
    run.close()
