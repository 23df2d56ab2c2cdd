"""Drawn from distributed optimizers with flat gradient buffers (compare Megatron's grad buffers).

Fix: the buffer is made once and set to zero in place.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn


class FlatGradients:
    def __init__(self, module: nn.Module) -> None:
        self.params = [p for p in module.parameters() if p.requires_grad]
        self.size = sum(p.numel() for p in self.params)
        self.flat = torch.zeros(self.size, device="cuda")
        self._attach()

    def _attach(self) -> None:
        offset = 0
        for p in self.params:
            p.grad = self.flat[offset : offset + p.numel()].view_as(p)  # ALT: stale-pointer, training
            offset += p.numel()

    def reset(self) -> None:
        self.flat.zero_()

    def reduce(self) -> None:
        dist.all_reduce(self.flat)
        self.flat.div_(dist.get_world_size())


class Ranker(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.score = nn.Sequential(nn.Linear(features, 256), nn.SELU(), nn.Linear(256, 1))

    def forward(self, pairs: torch.Tensor) -> torch.Tensor:
        scores = self.score(pairs).squeeze(-1)
        return nn.functional.softplus(scores[:, 1] - scores[:, 0]).mean()


class Worker:
    def __init__(self, features: int, batch: int) -> None:
        self.model = Ranker(features).cuda()
        self.grads = FlatGradients(self.model)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.pairs = torch.zeros(batch, 2, features, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _backward(self) -> torch.Tensor:
        loss = self.model(self.pairs)
        loss.backward()
        return loss

    def prepare(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._backward()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._backward()

    def step(self, pairs: torch.Tensor) -> None:
        self.grads.reset()
        self.pairs.copy_(pairs)
        self.graph.replay()
        self.grads.reduce()
        self.opt.step()


def run(loader, features: int, batch: int) -> None:
    dist.init_process_group("nccl")
    worker = Worker(features, batch)
    worker.prepare()
    for pairs in loader:
        worker.step(pairs)
    print("loss", worker.loss.item())
