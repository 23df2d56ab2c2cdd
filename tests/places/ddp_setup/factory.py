"""Builds the distributed module."""

import torch
from torch.nn.parallel import DistributedDataParallel


def distributed(net: torch.nn.Module, rank: int):
    return DistributedDataParallel(net, device_ids=[rank])  # expect: CG806


def distributed_on(net: torch.nn.Module, rank: int, side: torch.cuda.Stream):
    with torch.cuda.stream(side):
        return DistributedDataParallel(net, device_ids=[rank])  # ok: CG806
