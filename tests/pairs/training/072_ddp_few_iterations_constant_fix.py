"""The number of warm-up iterations is a constructor argument that defaults to eleven, as the reducer of a
distributed module needs."""

import torch
import torch.distributed as dist
from torch import nn


class GraphedDDP:
    def __init__(self, net, x, warmup=11):
        self.x = x.clone()
        self.warmup = warmup
        self.side = torch.cuda.Stream()
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.net = nn.parallel.DistributedDataParallel(net)
        torch.cuda.current_stream().wait_stream(self.side)
        self.graph = torch.cuda.CUDAGraph()

    def gradients(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss

    def build(self):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for _ in range(self.warmup):
                self.gradients()
        torch.cuda.current_stream().wait_stream(self.side)
        with torch.cuda.graph(self.graph, stream=self.side):
            self.loss = self.gradients()


def main(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    runner = GraphedDDP(nn.Linear(16, 16).cuda(), torch.zeros(4, 16, device="cuda"))
    runner.build()
    return runner
