"""CG802: gradients that a replay fills, and that eager code binds to tensors computed from them."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

STEP = """
import torch


class Trainer:
    def __init__(self, net: torch.nn.Module, n):
        self.net, self.n = net.cuda(), n
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.x = torch.zeros(8, 8, device="cuda")
        self.run()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.run()
        self.held = [p.grad for p in self.net.parameters()]

    def run(self):
        self.opt.zero_grad(set_to_none=True)
        self.net(self.x).sum().backward()

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        for p, own in zip(self.net.parameters(), self.held):
            {change}  # {mark}: CG802
        self.opt.step()
"""


@pytest.mark.parametrize(
    ("change", "mark"),
    [
        ("p.grad = p.grad / self.n", "expect"),
        ("p.grad = torch.clamp(p.grad, -1.0, 1.0)", "expect"),
        ("p.grad.div_(self.n)", "ok"),
        ("p.grad = own / self.n", "ok"),
    ],
)
def test_a_gradient_computed_from_the_gradient(change: str, mark: str) -> None:
    check_marked_rules(STEP.format(change=change, mark=mark))
