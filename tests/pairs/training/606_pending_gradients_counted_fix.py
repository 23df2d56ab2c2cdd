"""Drawn from gradient reducers that count ready gradients in hooks (compare the buckets of DDP and Megatron).

Fix: the captured step calls the reduction by itself and counts nothing.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn


class Reducer:
    def __init__(self, module: nn.Module) -> None:
        self.params = [p for p in module.parameters() if p.requires_grad]

    def reduce(self) -> None:
        for p in self.params:
            dist.all_reduce(p.grad)
            p.grad.div_(dist.get_world_size())


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inp = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.inp(x))).squeeze(-1)


class DataParallelTrainer:
    def __init__(self, width: int, batch: int) -> None:
        self.net = Net(width).cuda()
        self.reducer = Reducer(self.net)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.x = torch.zeros(batch, width, device="cuda")
        self.y = torch.zeros(batch, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _backward(self) -> torch.Tensor:
        for p in self.net.parameters():
            p.grad = None
        loss = nn.functional.mse_loss(self.net(self.x), self.y)
        loss.backward()
        self.reducer.reduce()
        return loss

    def prepare(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(11):
                self._backward()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._backward()

    def fit(self, loader) -> float:
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
            self.opt.step()
        return self.loss.item()


def main(loader) -> None:
    dist.init_process_group("nccl")
    trainer = DataParallelTrainer(256, 64)
    trainer.prepare()
    print(trainer.fit(loader))
