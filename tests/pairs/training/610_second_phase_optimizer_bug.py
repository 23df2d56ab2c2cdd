"""Drawn from fine-tuning scripts with two phases (head first, then everything).

Symptom: the second phase builds its optimizer without `capturable=True`; the capture for it refuses the step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn


@dataclass(frozen=True)
class Phase:
    name: str
    lr: float
    epochs: int
    decay: float = 0.01
    capturable: bool = True
    train_backbone: bool = False


HEAD = Phase("head", lr=1e-3, epochs=2)
FULL = replace(HEAD, name="full", lr=1e-5, epochs=10, train_backbone=True, capturable=False)


class Finetuned(nn.Module):
    def __init__(self, backbone: nn.Module, width: int, classes: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.backbone(x))


class PhaseRunner:
    def __init__(self, model: Finetuned, phase: Phase, x: torch.Tensor, y: torch.Tensor) -> None:
        self.model, self.phase = model, phase
        self.x, self.y = x, y
        self.model.backbone.requires_grad_(phase.train_backbone)
        wanted = [p for p in model.parameters() if p.requires_grad]
        self.opt = torch.optim.AdamW(
            wanted, lr=phase.lr, weight_decay=phase.decay, capturable=phase.capturable
        )
        self.graph = torch.cuda.CUDAGraph()
        self._capture()

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        self.opt.step()  # HAZARD: training
        return loss

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def run(self, loader) -> float:
        for _ in range(self.phase.epochs):
            for x, y in loader:
                self.x.copy_(x)
                self.y.copy_(y)
                self.graph.replay()
        return self.loss.item()


def finetune(backbone: nn.Module, loader, width: int, classes: int) -> list[float]:
    model = Finetuned(backbone, width, classes).cuda()
    x = torch.zeros(64, 3, 224, 224, device="cuda")
    y = torch.zeros(64, dtype=torch.long, device="cuda")
    return [PhaseRunner(model, phase, x, y).run(loader) for phase in (HEAD, FULL)]
