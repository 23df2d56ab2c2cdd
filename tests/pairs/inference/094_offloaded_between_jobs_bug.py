"""Symptom: between jobs the worker moves its model to the host to free memory and back again before the next
one; the parameters come back at other addresses than the graphs have.
"""

import torch
import torch.nn as nn


class GraphTable:
    def __init__(self, pool=None):
        self.pool = pool or torch.cuda.graph_pool_handle()
        self.entries: dict[int, tuple] = {}

    def add(self, size: int, fn, *static: torch.Tensor) -> None:
        for _ in range(2):
            fn(*static)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = fn(*static)
        self.entries[size] = (graph, static, out)

    def clear(self) -> None:
        self.entries.clear()

    def run(self, size: int, *inputs: torch.Tensor) -> torch.Tensor:
        graph, static, out = self.entries[size]
        for buffer, given in zip(static, inputs, strict=False):
            buffer[: given.shape[0]].copy_(given)
        graph.replay()
        return out.clone()


class ImageWorker:
    def __init__(self, net: nn.Module, width: int, sizes: tuple[int, ...] = (8, 4, 1)):
        self.net, self.width, self.sizes = net.cuda().eval(), width, sizes
        self.table = GraphTable()
        self.build()

    @torch.inference_mode()
    def build(self) -> None:
        for size in self.sizes:
            self.table.add(size, self.net, torch.zeros(size, self.width, device="cuda"))

    def offload(self) -> None:
        self.net.to("cpu")  # ALT: stale-pointer
        torch.cuda.empty_cache()

    def onload(self) -> None:
        self.net.to("cuda")  # HAZARD: stale-pointer

    def job(self, batches: list[torch.Tensor]) -> list[torch.Tensor]:
        self.onload()
        results = [self.table.run(b.shape[0], b.cuda()) for b in batches if b.shape[0] in self.sizes]
        self.offload()
        return results
