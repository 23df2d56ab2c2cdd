"""Ranks exchange their loss as a Python object inside the captured step."""

import torch
import torch.distributed as dist
from torch import nn


class Reporter:
    def __init__(self, world):
        self.world = world
        self.last = [None] * world

    def share(self, value):
        dist.all_gather_object(self.last, value)  # HAZARD: sync-in-capture, implicit-sync


class Worker:
    def __init__(self, net, x, world):
        self.net, self.x = net, x.clone()
        self.reporter = Reporter(world)
        self.graph = torch.cuda.CUDAGraph()

    def iterate(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        for p in self.net.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
        self.reporter.share(loss.detach())
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.iterate()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = self.iterate()


def main(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    worker = Worker(nn.Linear(4, 4).cuda(rank), torch.zeros(2, 4, device=f"cuda:{rank}"), world)
    worker.capture()
    return worker
