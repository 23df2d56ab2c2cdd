"""Drawn from EMA classes with a `load_state_dict` of their own (compare NeMo's and timm's averages) under a graph.

Fixed: loading copies into the tensors of the average.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn


class Ema:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        for name, p in model.named_parameters():
            self.shadow[name].lerp_(p, 1.0 - self.decay)

    def state_dict(self) -> dict:
        return {"decay": self.decay, "shadow": self.shadow}

    def load_state_dict(self, state: dict) -> None:
        for name, t in state["shadow"].items():
            self.shadow[name].copy_(t)

    @torch.no_grad()
    def copy_to(self, model: nn.Module) -> None:
        for name, p in model.named_parameters():
            p.copy_(self.shadow[name])


class Experiment:
    def __init__(self, model: nn.Module, folder: Path, width: int, size: int = 32) -> None:
        self.model, self.folder = model.cuda(), folder
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        self.ema = Ema(self.model, 0.999)
        self.x = torch.zeros(size, width, device="cuda")
        self.y = torch.zeros(size, width, device="cuda")
        self.losses: list[torch.Tensor] = []
        self._build()

    def _train_step(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.l1_loss(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        self.ema.update(self.model)
        return loss.detach()

    def _build(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._train_step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._train_step()

    def save(self, name: str) -> None:
        torch.save({"model": self.model.state_dict(), "ema": self.ema.state_dict()}, self.folder / name)

    def restore(self, name: str) -> None:
        state = torch.load(self.folder / name, map_location="cpu")
        self.model.load_state_dict(state["model"])
        self.ema.load_state_dict(state["ema"])

    def run(self, loader, patience: float = 10.0) -> None:
        for number, (x, y) in enumerate(loader):
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
            if number % 500 == 0:
                if self.loss.item() > patience:
                    self.restore("last.pt")
                else:
                    self.save("last.pt")
