from __future__ import annotations

import math

import torch
from torch import nn

from .arguments import TrainingArgs


class OptimizerWrapper:
    """AdamW with clipping, in one object that a graph can hold."""

    def __init__(self, model: nn.Module, args: TrainingArgs) -> None:
        self.args = args
        self.params = [each for each in model.parameters() if each.requires_grad]
        self.lr = torch.tensor(args.lr, device="cuda")
        self.inner = torch.optim.AdamW(self.params, lr=self.lr, capturable=True)

    def zero_grad(self) -> None:
        self.inner.zero_grad(set_to_none=False)

    def clip(self) -> torch.Tensor:
        norm = torch.nn.utils.get_total_norm([p.grad for p in self.params if p.grad is not None])
        scale = torch.clamp(self.args.clip_grad / (norm + 1e-6), max=1.0)
        for param in self.params:
            if param.grad is not None:
                param.grad.mul_(scale)
        return norm

    def step(self) -> torch.Tensor:
        norm = self.clip()
        self.inner.step()
        return norm


class LRSchedule:
    def __init__(self, optimizer: OptimizerWrapper, args: TrainingArgs) -> None:
        self.optimizer = optimizer
        self.args = args
        self.iteration = 0

    def value(self) -> float:
        args = self.args
        if self.iteration < args.warmup_iters:
            return args.lr * self.iteration / args.warmup_iters
        share = (self.iteration - args.warmup_iters) / (args.train_iters - args.warmup_iters)
        return args.min_lr + 0.5 * (args.lr - args.min_lr) * (1 + math.cos(math.pi * share))

    def step(self) -> None:
        self.iteration += 1
        self.optimizer.lr.fill_(self.value())
