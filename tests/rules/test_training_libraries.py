"""Parts of torch for training that work with the host, and closures that a step runs."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

STEP = """
import torch
from torch import nn


class Fit:
    def __init__(self, net: nn.Module):
        self.net = net.cuda()
        self.x = torch.zeros(4, 4, device="cuda")
        self.opt = {optimizer}
        self.graph = torch.cuda.CUDAGraph()

    def loss(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).sum()
        loss.backward()
        {after}
        return loss

    def capture(self):
        self.opt.step(self.loss)
        with torch.cuda.graph(self.graph):
            self.opt.step(self.loss)  # {mark}: CG302

    def step(self):
        self.graph.replay()
"""


@pytest.mark.parametrize(
    ("optimizer", "mark"),
    [
        ("torch.optim.LBFGS(self.net.parameters())", "expect"),
        ("torch.optim.Adafactor(self.net.parameters())", "expect"),
        ("torch.optim.SGD(self.net.parameters(), lr=0.1)", "ok"),
        ("torch.optim.Adam(self.net.parameters(), capturable=True)", "ok"),
    ],
)
def test_steps_that_read_on_the_host(optimizer: str, mark: str) -> None:
    check_marks(STEP.format(optimizer=optimizer, after="pass", mark=mark), select=("CG302",))


@pytest.mark.parametrize(
    "after", ["print(loss.item())  # expect: CG302", "self.seen = loss.detach() * 2  # ok: CG302"]
)
def test_the_closure_of_a_step_is_captured_with_it(after: str) -> None:
    optimizer = "torch.optim.SGD(self.net.parameters(), lr=0.1)"
    check_marks(STEP.format(optimizer=optimizer, after=after, mark="ok"), select=("CG302",))


@pytest.mark.parametrize(
    ("captured", "later", "mark"),
    [
        ("self.average.update_parameters(self.net)", "pass", "expect"),
        ("pass", "self.average.update_parameters(self.net)", "ok"),
        ("self.y = self.average(self.x)", "pass", "ok"),
    ],
)
def test_an_averaged_model_asks_whether_it_is_the_first(captured: str, later: str, mark: str) -> None:
    check_marks(
        f"""
        import torch
        from torch import nn
        from torch.optim.swa_utils import AveragedModel


        class Fit:
            def __init__(self):
                self.net = nn.Linear(4, 4).cuda()
                self.average = AveragedModel(self.net, device="cuda")
                self.x = torch.zeros(4, 4, device="cuda")
                self.graph = torch.cuda.CUDAGraph()

            def capture(self):
                self.net(self.x)
                with torch.cuda.graph(self.graph):
                    self.out = self.net(self.x)
                    {captured}  # {mark}: CG302

            def step(self):
                self.graph.replay()
                {later}
        """,
        select=("CG302",),
    )


@pytest.mark.parametrize(("options", "mark"), [("", "expect"), (", enabled=False", "ok")])
def test_the_scale_of_a_gradient_scaler_is_read(options: str, mark: str) -> None:
    check_marked_rules(f"""
        import torch

        def main(net: torch.nn.Module, x: torch.Tensor):
            scaler = torch.amp.GradScaler("cuda"{options})
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                scaler.scale(net(x).sum()).backward()
                scale = scaler.get_scale()  # {mark}: CG302
            graph.replay()
            return scaler.get_scale(), scale
    """)


@pytest.mark.parametrize(
    ("make", "reentrant", "mark"),
    [
        ("torch.cuda.make_graphed_callables(block, (x,))", "True", "expect"),
        ("torch.cuda.make_graphed_callables(block, (x,))", "False", "ok"),
        ("block", "True", "ok"),
    ],
)
def test_a_graphed_callable_that_recomputes(make: str, reentrant: str, mark: str) -> None:
    check_marked_rules(f"""
        import torch
        from torch.utils.checkpoint import checkpoint

        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Linear(8, 8)

            def forward(self, x):
                return x + checkpoint(self.inner, x, use_reentrant={reentrant})  # {mark}: CG807

        def main(data):
            block = Block().cuda()
            x = torch.zeros(4, 8, device="cuda", requires_grad=True)
            block = {make}
            for batch in data:
                block(batch.cuda().requires_grad_()).sum().backward()
    """)
