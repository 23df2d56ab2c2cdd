"""Source: deepspeedai/DeepSpeed#6910 (comment), sgl-project/sglang#20115 (sequence parallel)

Fixed form: the communication stream is forked from the current one first.
"""

import torch
import torch.distributed as dist
import torch.nn as nn


class SequenceParallelBlock(nn.Module):
    def __init__(self, width: int, world: int, comm: torch.cuda.Stream):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.local = nn.Linear(width, width)
        self.world, self.comm = world, comm

    def _gather(self, shard: torch.Tensor) -> torch.Tensor:
        full = torch.empty(self.world * shard.shape[0], shard.shape[1], device=shard.device)
        self.comm.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.comm):
            dist.all_gather_into_tensor(full, shard)
        return full

    def forward(self, shard: torch.Tensor) -> torch.Tensor:
        full = self._gather(shard)
        own = self.local(shard)
        torch.cuda.current_stream().wait_stream(self.comm)
        return self.inner(full)[: shard.shape[0]] + own


class SequenceParallelRunner:
    def __init__(self, width: int, rows: int):
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_rank())
        self.comm = torch.cuda.Stream()
        self.block = SequenceParallelBlock(width, dist.get_world_size(), self.comm).cuda()
        self.shard = torch.zeros(rows, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.block(self.shard)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self.block(self.shard)

    def __call__(self, shard: torch.Tensor) -> torch.Tensor:
        self.shard.copy_(shard)
        self.graph.replay()
        return self.out.clone()
