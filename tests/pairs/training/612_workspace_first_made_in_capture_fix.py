"""Drawn from fused layers that keep a workspace for their training path.

Fix: the warm-up runs in training mode, and the workspace exists before the capture.
"""

from __future__ import annotations

import torch
from torch import nn


class FusedMLP(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.workspace: torch.Tensor | None = None

    def _space(self, rows: int) -> torch.Tensor:
        if self.workspace is None or self.workspace.shape[0] < rows:
            self.workspace = torch.zeros(rows, self.up.out_features, device="cuda")
        return self.workspace

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.up(x))
        if self.training:
            kept = self._space(x.shape[0])
            kept.copy_(hidden.detach())
        return self.down(hidden)

    def sparsity(self) -> float:
        if self.workspace is None:
            return 0.0
        return (self.workspace == 0).float().mean().item()


class Trainer:
    def __init__(self, width: int, batch: int) -> None:
        self.net = FusedMLP(width, 4 * width).cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _pass(self) -> torch.Tensor:
        loss = (self.net(self.x) - self.x).square().mean()
        loss.backward()
        return loss

    def prepare(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._pass()
                self.opt.zero_grad(set_to_none=True)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._pass()

    def step(self, x: torch.Tensor) -> None:
        self.x.copy_(x)
        for p in self.net.parameters():
            p.grad.zero_()
        self.graph.replay()
        self.opt.step()

    def report(self) -> str:
        return f"loss {self.loss.item():.4f}, zeros {self.net.sparsity():.2f}"


def main(loader, width: int = 256) -> None:
    trainer = Trainer(width, 64)
    trainer.prepare()
    for number, x in enumerate(loader):
        trainer.step(x)
        if number % 100 == 0:
            print(number, trainer.report())
