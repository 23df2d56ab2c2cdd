"""Source: vllm-project/vllm#9815 (comment), InternLM/lmdeploy#3021

Symptom: with a debug option the row parallel layer puts a barrier in front of its reduction; the
barrier synchronises the host and every rank loses its capture.
"""

import os

import torch
import torch.distributed as dist
import torch.nn as nn


class GroupCoordinator:
    def __init__(self, ranks: list[int], debug: bool = True):
        self.device_group = dist.new_group(ranks, backend="nccl")
        self.world_size = len(ranks)
        self.debug = debug

    def all_reduce(self, x: torch.Tensor) -> torch.Tensor:
        if self.world_size == 1:
            return x
        if self.debug:
            dist.barrier(group=self.device_group)  # HAZARD: sync-in-capture
        dist.all_reduce(x, group=self.device_group)
        return x


_TP: GroupCoordinator | None = None


def init_parallel() -> None:
    global _TP
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    _TP = GroupCoordinator(list(range(dist.get_world_size())))


def get_tp_group() -> GroupCoordinator:
    assert _TP is not None, "the tensor parallel group is not initialised"
    return _TP


class RowParallelLinear(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.shard = nn.Linear(width, width, bias=False, device="cuda")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return get_tp_group().all_reduce(self.shard(x))


@torch.inference_mode()
def capture_rank(width: int, batch: int):
    init_parallel()
    layer = RowParallelLinear(width)
    x = torch.zeros(batch, width, device="cuda")
    for _ in range(3):
        layer(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = layer(x)
    return graph, x, y
