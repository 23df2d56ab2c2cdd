"""Drawn from accumulation helpers in trainers that graph one micro batch.

Symptom: the context manager for one optimizer step ends with zero_grad(), which sets the gradients to
None. The graph goes on filling the memory that it was captured with, and the optimizer sees nothing.
"""

import contextlib
from collections.abc import Iterator

import torch
from torch import nn


class MicroBatchGraph:
    def __init__(self, net: nn.Module, loss_fn, x: torch.Tensor, y: torch.Tensor):
        self.x, self.y = torch.zeros_like(x, device="cuda"), torch.zeros_like(y, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                loss_fn(net(self.x), self.y).backward()
        torch.cuda.current_stream().wait_stream(stream)
        for p in net.parameters():
            p.grad.zero_()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = loss_fn(net(self.x), self.y)
            self.loss.backward()
        for p in net.parameters():
            p.grad.zero_()

    def run(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.loss.detach().clone()


class Accumulator:
    def __init__(self, net: nn.Module, optimizer: torch.optim.Optimizer, count: int):
        self.net, self.optimizer, self.count = net, optimizer, count

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        yield
        for p in self.net.parameters():
            p.grad.div_(self.count)
        self.optimizer.step()
        self.optimizer.zero_grad()  # HAZARD: stale-pointer


def fit(net: nn.Module, loader, count: int = 4) -> list[float]:
    net = net.cuda()
    batches = iter(loader)
    x, y = next(batches)
    graph = MicroBatchGraph(net, nn.CrossEntropyLoss(), x, y)
    accumulator = Accumulator(net, torch.optim.AdamW(net.parameters()), count)
    history = []
    for _ in range(len(loader) // count):
        with accumulator.step():
            losses = [graph.run(*next(batches)) for _ in range(count)]
        history.append(torch.stack(losses).mean().item())
    return history
