"""Drawn from gradient reducers that count ready gradients in hooks (compare the buckets of DDP and Megatron).

Symptom: hooks count on the host how many gradients are still missing; replays do not run hooks, the count stays
where the capture left it, and the wait after the first eager reset never finds it at zero.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn


class Reducer:
    def __init__(self, module: nn.Module) -> None:
        self.params = [p for p in module.parameters() if p.requires_grad]
        self.pending = len(self.params)
        for p in self.params:
            p.register_post_accumulate_grad_hook(self._ready)

    def _ready(self, param: torch.Tensor) -> None:
        self.pending -= 1  # HAZARD: side-effect
        if self.pending == 0:  # ALT: side-effect, frozen-scalar
            self.reduce()

    def reduce(self) -> None:
        for p in self.params:
            dist.all_reduce(p.grad)
            p.grad.div_(dist.get_world_size())

    def start(self) -> None:
        self.pending = len(self.params)

    def finish(self) -> None:
        if self.pending != 0:
            raise RuntimeError(f"{self.pending} gradients are missing")


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
        return loss

    def prepare(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(11):
                self.reducer.start()
                self._backward()
        torch.cuda.current_stream().wait_stream(side)
        self.reducer.start()
        with torch.cuda.graph(self.graph):
            self.loss = self._backward()

    def fit(self, loader) -> float:
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            self.reducer.start()
            self.graph.replay()
            self.reducer.finish()
            self.opt.step()
        return self.loss.item()


def main(loader) -> None:
    dist.init_process_group("nccl")
    trainer = DataParallelTrainer(256, 64)
    trainer.prepare()
    print(trainer.fit(loader))
