"""Clean: teacher, center and temperature live in memory that captured code and the schedule write in place; crops come
through two static inputs, and a validation pass runs the student eagerly between replays."""

from __future__ import annotations

import copy
import math

import torch
from torch import nn


class Center(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("value", torch.zeros(width))
        self.register_buffer("temperature", torch.full((), 0.04))

    @torch.no_grad()
    def update(self, outputs: torch.Tensor) -> None:
        self.value.mul_(0.9).add_(outputs.mean(0), alpha=0.1)


class Distiller:
    def __init__(self, student: nn.Module, width: int, shape: tuple[int, ...], total: int) -> None:
        self.student = student.cuda()
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.center = Center(width).cuda()
        self.momentum = torch.full((), 0.996, device="cuda")
        self.opt = torch.optim.AdamW(
            self.student.parameters(), lr=torch.tensor(0.0, device="cuda"), capturable=True
        )
        self.views = [torch.zeros(shape, device="cuda") for _ in range(2)]
        self.total = total
        self.graph: torch.cuda.CUDAGraph | None = None

    def _loss(self) -> torch.Tensor:
        with torch.no_grad():
            target = self.teacher(self.views[1])
            wanted = ((target - self.center.value) / self.center.temperature).softmax(-1)
        guess = (self.student(self.views[0]) / 0.1).log_softmax(-1)
        self.center.update(target)
        return -(wanted * guess).sum(-1).mean()

    def _iteration(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = self._loss()
        loss.backward()
        nn.utils.clip_grad_norm_(self.student.parameters(), 3.0)
        self.opt.step()
        with torch.no_grad():
            for mine, other in zip(self.teacher.parameters(), self.student.parameters()):
                mine.mul_(self.momentum).add_(other * (1 - self.momentum))
        return loss

    def schedule(self, step: int) -> None:
        progress = step / self.total
        rate = 5e-4 * min(1.0, step / 100) * 0.5 * (1 + math.cos(math.pi * progress))
        for group in self.opt.param_groups:
            group["lr"].fill_(rate)
        self.momentum.fill_(1 - 0.004 * 0.5 * (1 + math.cos(math.pi * progress)))
        self.center.temperature.fill_(0.04 + 0.03 * min(1.0, progress * 10))

    def fit(self, loader, held_out: torch.Tensor) -> list[float]:
        history = []
        for step, views in enumerate(loader):
            for static, view in zip(self.views, views):
                static.copy_(view, non_blocking=True)
            if self.graph is None:
                side = torch.cuda.Stream()
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    for _ in range(3):
                        self._iteration()
                torch.cuda.current_stream().wait_stream(side)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.loss = self._iteration()
            self.schedule(step)
            self.graph.replay()
            if step % 500 == 0:
                with torch.no_grad():
                    spread = self.student(held_out.cuda()).std(0).mean().item()
                history.append(spread)
        return history
