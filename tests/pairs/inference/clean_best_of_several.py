"""Clean: candidates are copied before they go into a heap; adapters are chosen by name and copied into the
buffer that the graph reads; the module is moved before anything is captured.
"""

import heapq
import itertools

import torch
import torch.nn as nn


class Adapters:
    def __init__(self, width: int, names: list[str]):
        self.stored = {name: torch.zeros(width, width, device="cuda") for name in names}
        self.current = torch.zeros(width, width, device="cuda")
        self.name = names[0]

    def select(self, name: str) -> None:
        self.name = name
        self.current.copy_(self.stored[name])

    def add(self, name: str, weight: torch.Tensor) -> None:
        self.stored[name] = weight.cuda()


class AdaptedGenerator:
    def __init__(self, net: nn.Module, adapters: Adapters, width: int, sizes: tuple[int, ...] = (4, 1)):
        self.net = net.cpu().float().cuda().eval()
        self.adapters = adapters
        self.z = torch.zeros(max(sizes), width, device="cuda")
        self.pool = torch.cuda.graph_pool_handle()
        with torch.inference_mode():
            self.graphs = {size: self._capture(size) for size in sizes}

    def _run(self, size: int) -> torch.Tensor:
        z = self.z[:size]
        return self.net(z) + z @ self.adapters.current

    def _capture(self, size: int) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
        for _ in range(2):
            self._run(size)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self._run(size)
        return graph, out

    def __call__(self, size: int) -> torch.Tensor:
        graph, out = self.graphs[size]
        self.z.normal_()
        graph.replay()
        return out.clone()


def search(generator: AdaptedGenerator, judge: nn.Module, names: list[str], keep: int) -> list[torch.Tensor]:
    heap: list[tuple[float, int, torch.Tensor]] = []
    order = itertools.count()
    for name in names:
        generator.adapters.select(name)
        images = generator(4)
        for image, score in zip(images, judge(images).flatten().tolist()):
            heapq.heappush(heap, (score, next(order), image))
            if len(heap) > keep:
                heapq.heappop(heap)
    return [image for _, _, image in sorted(heap, key=lambda each: -each[0])]
