"""Gradients are averaged over all ranks inside the capture; the helper ends with a barrier, which waits on
the host."""

import torch
import torch.distributed as dist
from torch import nn


class GradientSync:
    def __init__(self, params, group=None):
        self.params = list(params)
        self.group = group
        self.world = dist.get_world_size(group)

    def __call__(self):
        for p in self.params:
            dist.all_reduce(p.grad, group=self.group)
            p.grad.div_(self.world)
        dist.barrier(group=self.group)  # HAZARD: sync-in-capture


class RankStep:
    def __init__(self, net, x):
        self.net, self.x = net, x.clone()
        self.sync = GradientSync(net.parameters())
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.sync()
        self.opt.step()
        return loss

    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = self.step()


def worker(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    step = RankStep(nn.Linear(8, 8).cuda(), torch.zeros(4, 8, device="cuda"))
    step.capture()
    return step
