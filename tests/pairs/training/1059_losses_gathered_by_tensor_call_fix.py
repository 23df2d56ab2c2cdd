"""Source: facebookresearch/detr (reduce_dict) rewritten for a captured step.

Fixed: the losses are stacked on the device.
"""

import torch
import torch.distributed as dist
from torch import nn


def reduce_dict(values, average=True):
    names = sorted(values)
    vector = torch.stack([values[k] for k in names])
    dist.all_reduce(vector)
    if average:
        vector /= dist.get_world_size()
    return dict(zip(names, vector))


class MultiTask(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.trunk = nn.Linear(d, d)
        self.heads = nn.ModuleDict({"depth": nn.Linear(d, 1), "normal": nn.Linear(d, 3)})

    def forward(self, x):
        h = torch.relu(self.trunk(x))
        return {name: head(h).square().mean() for name, head in self.heads.items()}


class Step:
    def __init__(self, d, batch):
        self.net = MultiTask(d).cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(batch, d, device="cuda")

    def run(self):
        self.opt.zero_grad(set_to_none=True)
        losses = self.net(self.x)
        sum(losses.values()).backward()
        for p in self.net.parameters():
            dist.all_reduce(p.grad)
        self.opt.step()
        return reduce_dict({k: v.detach() for k, v in losses.items()})

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(11):
                self.run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.losses = self.run()
