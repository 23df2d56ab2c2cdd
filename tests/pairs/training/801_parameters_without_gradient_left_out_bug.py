"""Drawn from microsoft/dion#108 (capture with parameters that have no gradient yet).

Symptom: the backbone is unfrozen after the first stage and gets gradients, but it does not move: the captured
update went over the parameters that had a gradient when it was recorded.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import Optimizer


class SignMomentum(Optimizer):
    def __init__(self, params, lr: float = 1e-3, beta: float = 0.9) -> None:
        super().__init__(params, dict(lr=lr, beta=beta))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:  # ALT: frozen-scalar, side-effect, training
                    continue
                state = self.state[p]
                if "avg" not in state:
                    state["avg"] = torch.zeros_like(p)
                state["avg"].lerp_(p.grad, 1 - group["beta"])
                p.add_(state["avg"].sign(), alpha=-group["lr"])


class CapturedUpdate:
    """Calls the optimizer for some steps, then records the next one and replays it."""

    def __init__(self, optimizer: Optimizer, warmup_steps: int = 3) -> None:
        self.optimizer = optimizer
        self.remaining = warmup_steps
        self.graph: torch.cuda.CUDAGraph | None = None
        self.stream = torch.cuda.Stream()

    def step(self) -> None:
        if self.graph is not None:
            self.graph.replay()
            return
        if self.remaining > 0:
            self.remaining -= 1
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                self.optimizer.step()
            torch.cuda.current_stream().wait_stream(self.stream)
            return
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.optimizer.step()
        self.graph.replay()

    def zero_grad(self) -> None:
        self.optimizer.zero_grad(set_to_none=False)

    def release(self) -> None:
        self.graph, self.remaining = None, 3


class Classifier(nn.Module):
    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def finetune(loader, width: int = 64, classes: int = 10, head_epochs: int = 2, epochs: int = 6) -> None:
    model = Classifier(width, classes).cuda()
    model.backbone.requires_grad_(False)
    update = CapturedUpdate(SignMomentum(model.parameters()))
    for epoch in range(epochs):
        if epoch == head_epochs:
            model.backbone.requires_grad_(True)  # HAZARD: frozen-scalar, training, side-effect
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            loss.backward()
            update.step()
            update.zero_grad()
