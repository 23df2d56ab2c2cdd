"""Source: ROCm/rccl#2022 (the communicator is made by the first collective).

Symptom: capturing the data-parallel step fails in all_reduce: the warm-up runs forward and backward only, and the communicator
is set up by the first collective, which is now the recorded one.
"""

import torch
import torch.distributed as dist
from torch import nn


def setup(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)


class Replica:
    def __init__(self, net: nn.Module, batch, d):
        self.net = net.cuda()
        self.x = torch.zeros(batch, d, device="cuda")
        self.flat = None

    def backward(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss

    def reduce(self):
        grads = [p.grad for p in self.net.parameters()]
        flat = torch.cat([g.flatten() for g in grads])
        dist.all_reduce(flat)  # ALT: missing-warmup
        offset = 0
        for g in grads:
            g.copy_(flat[offset : offset + g.numel()].view_as(g))
            offset += g.numel()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(11):
                self.backward()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # HAZARD: missing-warmup
            self.loss = self.backward()
            self.reduce()  # ALT: missing-warmup


def worker(rank, world, net, loader):
    setup(rank, world)
    replica = Replica(net, 32, 64)
    replica.capture()
    opt = torch.optim.SGD(replica.net.parameters(), lr=0.1)
    for x in loader:
        replica.x.copy_(x)
        replica.graph.replay()
        opt.step()
