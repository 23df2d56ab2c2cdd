"""Clean: every group of the optimizer has its rate in a tensor on the device; a schedule of the project's own keeps
the host side of it and writes the rates between replays."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn


def warmup_then_cosine(warmup: int, total: int) -> Callable[[int], float]:
    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        share = (step - warmup) / max(1, total - warmup)
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, share)))

    return factor


class DeviceSchedule:
    def __init__(self, optimizer: torch.optim.Optimizer, factor: Callable[[int], float]) -> None:
        self.groups = optimizer.param_groups
        self.factor = factor
        self.base = [float(group["initial_lr"]) for group in self.groups]
        self.steps = 0

    def advance(self) -> None:
        scale = self.factor(self.steps)
        for group, base in zip(self.groups, self.base):
            group["lr"].fill_(base * scale)
        self.steps += 1


def split_parameters(model: nn.Module):
    decayed, plain = [], []
    for name, p in model.named_parameters():
        (plain if p.ndim < 2 or name.endswith("bias") else decayed).append(p)
    return decayed, plain


def build_optimizer(model: nn.Module, lr: float, decay: float) -> torch.optim.Optimizer:
    decayed, plain = split_parameters(model)
    groups = [
        {"params": decayed, "lr": torch.tensor(lr, device="cuda"), "initial_lr": lr, "weight_decay": decay},
        {
            "params": plain,
            "lr": torch.tensor(2 * lr, device="cuda"),
            "initial_lr": 2 * lr,
            "weight_decay": 0.0,
        },
    ]
    return torch.optim.AdamW(groups, capturable=True)


def train(model: nn.Module, loader, width: int, size: int, total: int = 10_000) -> list[float]:
    model = model.cuda()
    optimizer = build_optimizer(model, 3e-4, 0.1)
    schedule = DeviceSchedule(optimizer, warmup_then_cosine(200, total))
    x = torch.zeros(size, width, device="cuda")
    y = torch.zeros(size, width, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.smooth_l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    seen = []
    for number, (bx, by) in enumerate(loader):
        x.copy_(bx, non_blocking=True)
        y.copy_(by, non_blocking=True)
        schedule.advance()
        graph.replay()
        if (number + 1) % 100 == 0:
            seen.append(loss.item())
    return seen
