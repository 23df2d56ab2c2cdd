"""Drawn from home-made gradient clipping by infinity norm in trainers that capture the whole step.

Symptom: the builtin max() compares device scalars pairwise, each time on the host.
"""

import torch
from torch import nn


class InfNormClipper:
    def __init__(self, params, limit: float):
        self.params, self.limit = list(params), limit

    def norms(self) -> list[torch.Tensor]:
        return [p.grad.detach().abs().max() for p in self.params if p.grad is not None]

    def clip_(self) -> torch.Tensor:
        largest = max(self.norms())  # HAZARD: host-branch-on-device
        scale = (self.limit / (largest + 1e-6)).clamp(max=1.0)
        for p in self.params:
            p.grad.mul_(scale)
        return largest


class CapturedTrainer:
    def __init__(self, net: nn.Module, width: int):
        self.net = net
        self.opt = torch.optim.AdamW(net.parameters(), lr=3e-4, capturable=True)
        self.clipper = InfNormClipper(net.parameters(), 1.0)
        self.x = torch.zeros(32, width, device="cuda")
        self.t = torch.zeros(32, dtype=torch.long, device="cuda")
        self.graph = None

    def _update(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.net(self.x), self.t)
        loss.backward()
        self.clipper.clip_()
        self.opt.step()
        return loss

    def compile(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._update()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        self.opt.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = self._update()

    def fit(self, batches) -> float:
        self.compile()
        total = 0.0
        for x, t in batches:
            self.x.copy_(x)
            self.t.copy_(t)
            self.graph.replay()
            total += self.loss.item()
        return total
