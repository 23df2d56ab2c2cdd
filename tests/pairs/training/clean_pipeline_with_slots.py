"""Clean: a pipeline stage has one graph and one set of buffers for each slot of micro-batches that may be in
flight; a slot is free again when its backward pass has run."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Slot:
    inp: torch.Tensor
    grad: torch.Tensor
    forward: torch.cuda.CUDAGraph
    backward: torch.cuda.CUDAGraph
    out: torch.Tensor
    grad_inp: torch.Tensor


class Stage:
    def __init__(self, module: nn.Module, slots: int, shape: tuple[int, int]) -> None:
        self.module = module.cuda()
        for p in self.module.parameters():
            p.grad = torch.zeros_like(p)
        self.stream = torch.cuda.Stream()
        self._warm(shape)
        self.slots = [self._capture(shape) for _ in range(slots)]
        self.busy: list[int] = []

    def _warm(self, shape: tuple[int, int]) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                x = torch.zeros(shape, device="cuda", requires_grad=True)
                torch.autograd.grad(self.module(x).sum(), [x, *self.module.parameters()])
        torch.cuda.current_stream().wait_stream(self.stream)

    def _capture(self, shape: tuple[int, int]) -> Slot:
        inp = torch.zeros(shape, device="cuda", requires_grad=True)
        forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(forward, stream=self.stream):
            out = self.module(inp)
        grad = torch.zeros_like(out)
        params = list(self.module.parameters())
        with torch.cuda.graph(backward, stream=self.stream):
            grad_inp, *grads = torch.autograd.grad(out, [inp, *params], grad)
            for p, g in zip(params, grads):
                p.grad.add_(g)
        return Slot(inp, grad, forward, backward, out.detach(), grad_inp)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        index = next(i for i in range(len(self.slots)) if i not in self.busy)
        slot = self.slots[index]
        with torch.no_grad():
            slot.inp.copy_(x)
        slot.forward.replay()
        self.busy.append(index)
        return slot.out

    def backward(self, grad: torch.Tensor) -> torch.Tensor:
        slot = self.slots[self.busy.pop(0)]
        slot.grad.copy_(grad)
        slot.backward.replay()
        return slot.grad_inp


def run_schedule(stage: Stage, batches: list[torch.Tensor], optimizer: torch.optim.Optimizer) -> float:
    pending = 0
    for batch in batches:
        out = stage.forward(batch)
        pending += 1
        if pending == len(stage.slots):
            stage.backward(out.sign())
            pending -= 1
    while pending:
        stage.backward(torch.ones_like(stage.slots[0].out))
        pending -= 1
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    return float(len(batches))
