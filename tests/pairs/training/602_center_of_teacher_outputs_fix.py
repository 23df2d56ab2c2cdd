"""Drawn from self-distillation losses with a running center (compare facebookresearch/dino).

Fix: the update interpolates the buffer in place.
"""

from __future__ import annotations

import copy

import torch
from torch import nn


class DistillLoss(nn.Module):
    def __init__(self, width: int, momentum: float = 0.9) -> None:
        super().__init__()
        self.momentum = momentum
        self.student_temp, self.teacher_temp = 0.1, 0.04
        self.register_buffer("center", torch.zeros(1, width))

    def forward(self, student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
        target = torch.softmax((teacher - self.center) / self.teacher_temp, dim=-1).detach()
        log_probs = torch.log_softmax(student / self.student_temp, dim=-1)
        loss = -(target * log_probs).sum(-1).mean()
        self.update(teacher)
        return loss

    @torch.no_grad()
    def update(self, teacher: torch.Tensor) -> None:
        batch_center = teacher.mean(dim=0, keepdim=True)
        self.center.lerp_(batch_center, 1 - self.momentum)


def head(width: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 256), nn.GELU(), nn.Linear(256, out))


class Distiller:
    def __init__(self, backbone: nn.Module, width: int, out: int, shape: tuple[int, ...]) -> None:
        self.student = nn.Sequential(backbone, head(width, out)).cuda()
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.loss_fn = DistillLoss(out).cuda()
        self.opt = torch.optim.AdamW(self.student.parameters(), lr=5e-4, capturable=True)
        self.one = torch.zeros(shape, device="cuda")
        self.two = torch.zeros(shape, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def _iteration(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        with torch.no_grad():
            teacher = self.teacher(self.two)
        loss = self.loss_fn(self.student(self.one), teacher)
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for mine, other in zip(self.teacher.parameters(), self.student.parameters()):
                mine.lerp_(other, 0.004)
        return loss

    def _record(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._iteration()

    def step(self, one: torch.Tensor, two: torch.Tensor) -> float:
        self.one.copy_(one)
        self.two.copy_(two)
        if self.graph is None:
            self._record()
        self.graph.replay()
        return self.loss.item()
