"""Losses are averaged over all ranks for the log. The helper returns Python numbers, and the captured step calls
it each time."""

import torch
import torch.distributed as dist
from torch import nn


@torch.no_grad()
def reduce_dict(values, average=True):
    names = sorted(values)
    stacked = torch.stack([values[name].detach() for name in names])
    dist.all_reduce(stacked)
    if average:
        stacked /= dist.get_world_size()
    return dict(zip(names, stacked, strict=True))


class Panoptic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = nn.Linear(width, width)
        self.heads = nn.ModuleDict({"mask": nn.Linear(width, 1), "box": nn.Linear(width, 4)})

    def forward(self, x):
        h = torch.relu(self.trunk(x))
        return {name: head(h).square().mean() for name, head in self.heads.items()}


class Loop:
    def __init__(self, net, shape):
        self.net, self.x = net, torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.seen = None

    def run_step(self):
        self.net.zero_grad(set_to_none=True)
        losses = self.net(self.x)
        sum(losses.values()).backward()
        self.seen = self.write_metrics(losses)

    def write_metrics(self, losses):
        return reduce_dict(losses)

    def before_train(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(11):
                self.run_step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.run_step()


def main(rank):
    torch.cuda.set_device(rank)
    loop = Loop(Panoptic(32).cuda(), (8, 32))
    loop.before_train()
    return loop
