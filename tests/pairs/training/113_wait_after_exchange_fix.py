"""Neighbouring stages exchange activations; a workaround for an old race waits for the device after every
exchange, and the exchange is part of the captured iteration. (Seen in NVIDIA/Megatron-LM#6958.)"""

import torch
import torch.distributed as dist
from torch import nn


class Stage:
    def __init__(self, rank, world):
        self.rank, self.world = rank, world

    @property
    def last(self):
        return self.rank == self.world - 1

    @property
    def first(self):
        return self.rank == 0


def exchange(stage, send, recv, batched=True):
    ops = []
    if send is not None and not stage.last:
        ops.append(dist.P2POp(dist.isend, send, stage.rank + 1))
    if recv is not None and not stage.first:
        ops.append(dist.P2POp(dist.irecv, recv, stage.rank - 1))
    if ops:
        for work in dist.batch_isend_irecv(ops):
            work.wait()
    if batched and not torch.cuda.is_current_stream_capturing():
        torch.cuda.synchronize()
    return recv


class Schedule:
    def __init__(self, net, stage, micro, shape):
        self.net, self.stage, self.micro = net, stage, micro
        self.inputs = [torch.zeros(shape, device="cuda") for _ in range(micro)]
        self.landing = torch.zeros(shape, device="cuda")

    def forward_only(self):
        outputs = []
        for x in self.inputs:
            x = x if self.stage.first else exchange(self.stage, None, self.landing)
            y = self.net(x)
            if not self.stage.last:
                exchange(self.stage, y, None)
            outputs.append(y)
        return outputs


class FullGraph:
    def __init__(self, schedule):
        self.schedule = schedule
        self.graph = None

    @torch.no_grad()
    def __call__(self):
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.schedule.forward_only()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
                self.out = self.schedule.forward_only()
        self.graph.replay()
        return [y.clone() for y in self.out]


def main(rank, world):
    schedule = Schedule(nn.Linear(8, 8).cuda(), Stage(rank, world), 4, (2, 8))
    return FullGraph(schedule)()
