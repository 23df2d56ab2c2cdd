"""CG102: the storage of a weight is replaced under a graph."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

POLICY = """\
import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(16, 16)
        self.scale = torch.nn.Parameter(torch.ones(16))
        self.register_buffer("mean", torch.zeros(16))

    def forward(self, x):
        return self.inner(x - self.mean) * self.scale


class Policy:
    def __init__(self):
        self.block = Block().cuda()
        self.spare = Block().cuda()
        self.x = torch.zeros(4, 16, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = self.block(self.x)

    def load(self, weight: torch.Tensor, state: dict):
        {statement}  # {mark}

    def act(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "statement",
    [
        "self.block.scale.data = weight.cuda()",
        "self.block.inner.weight.data = weight.cuda()",
        "self.block.scale = torch.nn.Parameter(weight.cuda())",
        "self.block.inner.weight = torch.nn.Parameter(weight.cuda())",
        "self.block.load_state_dict(state, assign=True)",
        "self.block.half()",
        "self.block.to(torch.bfloat16)",
    ],
)
def test_reported(statement: str) -> None:
    check_marked_rules(POLICY.format(statement=statement, mark="expect: CG102"))


@pytest.mark.parametrize(
    "statement",
    [
        "self.block.scale.data.copy_(weight)",
        "self.block.load_state_dict(state)",
        "self.spare.scale.data = weight.cuda()",
        "self.spare.half()",
        "self.block.scale.data.mul_(0.5)",
        "self.block.eval()",
        "self.block.inner.weight.requires_grad_(False)",
        "self.block.scale.data = weight.cuda(); self.capture()",
    ],
)
def test_fine(statement: str) -> None:
    check_marked_rules(POLICY.format(statement=statement, mark="ok: CG102"))


ACROSS_FILES = {
    "sync.py": """\
        import torch


        def receive(net: torch.nn.Module, weights: dict[str, torch.Tensor]):
            for name, parameter in net.named_parameters():
                parameter.data = weights[name].cuda()  # expect: CG102
        """,
    "rollout.py": """\
        import torch

        from sync import receive


        class Rollout:
            def __init__(self):
                self.net = torch.nn.Linear(8, 2, device="cuda")
                self.x = torch.zeros(1, 8, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.net(self.x)

            def update(self, weights: dict[str, torch.Tensor]):
                receive(self.net, weights)

            def act(self, x: torch.Tensor):
                self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG102-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    statement = "self.block.scale.data = weight.cuda()  # graphlint: ignore[CG102] -- recaptured afterwards"
    check_marked_rules(POLICY.format(statement=statement, mark="ok: CG102"))
