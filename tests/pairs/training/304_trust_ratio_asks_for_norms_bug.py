"""Drawn from the LARC wrapper of NVIDIA/apex and from layer-wise rates in trainers of large batches.

Symptom: the wrapper of the optimizer asks `if param_norm != 0 and grad_norm != 0` for each parameter; the
norms are on the device, so that the captured step fails at the first of them.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import SGD, Optimizer


class TrustRatio:
    """Scales gradients layer by layer before the wrapped optimizer takes its step."""

    def __init__(self, optimizer: Optimizer, coefficient: float = 0.02, eps: float = 1e-8) -> None:
        self.optim = optimizer
        self.coefficient = coefficient
        self.eps = eps

    @property
    def param_groups(self) -> list[dict]:
        return self.optim.param_groups

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optim.zero_grad(set_to_none=set_to_none)

    def _adapt(self, p: nn.Parameter, decay: float) -> None:
        param_norm = torch.linalg.vector_norm(p)
        grad_norm = torch.linalg.vector_norm(p.grad)
        if param_norm != 0 and grad_norm != 0:  # HAZARD: host-branch-on-device
            ratio = self.coefficient * param_norm / (grad_norm + param_norm * decay + self.eps)
            p.grad.add_(p, alpha=decay)
            p.grad.mul_(ratio)

    @torch.no_grad()
    def step(self) -> None:
        decays = []
        for group in self.optim.param_groups:
            decay = group.get("weight_decay", 0.0)
            decays.append(decay)
            group["weight_decay"] = 0.0
            for p in group["params"]:
                if p.grad is not None:
                    self._adapt(p, decay)
        self.optim.step()
        for group, decay in zip(self.optim.param_groups, decays):
            group["weight_decay"] = decay


def split_decay(model: nn.Module, decay: float) -> list[dict]:
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def main(loader, epochs: int = 10) -> None:
    model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
    optimizer = TrustRatio(SGD(split_decay(model, 1e-4), lr=0.1, momentum=0.9))
    images = torch.zeros(4096, 784, device="cuda")
    labels = torch.zeros(4096, dtype=torch.long, device="cuda")

    def iteration() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            iteration()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad()
    with torch.cuda.graph(graph):
        loss = iteration()
    for epoch in range(epochs):
        for x, y in loader:
            images.copy_(x.view(-1, 784), non_blocking=True)
            labels.copy_(y, non_blocking=True)
            graph.replay()
        print(epoch, float(loss))
