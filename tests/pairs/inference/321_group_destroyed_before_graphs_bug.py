"""Source: vllm-project/vllm#16300 (comment), sgl-project/sglang#6502

Symptom: the worker destroys its communicator at shutdown while the graphs that recorded its
collectives are still alive; newer NCCL waits for them and the process never ends.
"""

import atexit

import torch
import torch.distributed as dist
import torch.nn as nn


class TensorParallelWorker:
    def __init__(self, model: nn.Module, sizes: list[int], width: int):
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()
        torch.cuda.set_device(self.rank)
        self.model = model.cuda().eval()
        self.sizes = sorted(sizes, reverse=True)
        self.x = torch.zeros(self.sizes[0], width, device="cuda")
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.outs: dict[int, torch.Tensor] = {}
        atexit.register(self.shutdown)

    def _forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.model(x)
        dist.all_reduce(y)
        return y

    @torch.inference_mode()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for bs in self.sizes:
            for _ in range(2):
                self._forward(self.x[:bs])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                self.outs[bs] = self._forward(self.x[:bs])
            self.graphs[bs] = graph

    def step(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        bs = min(s for s in self.sizes if s >= n)
        self.x[:n].copy_(x)
        self.x[n:bs].zero_()
        self.graphs[bs].replay()
        return self.outs[bs][:n].clone()

    def shutdown(self) -> None:
        torch.cuda.synchronize()
        dist.destroy_process_group()  # HAZARD: other
