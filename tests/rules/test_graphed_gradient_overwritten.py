"""CG811: `.grad` that is a buffer of a graphed callable is overwritten by its next backward pass."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

LOOP = """\
import torch
from torch import nn


def train(batches):
    net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)).cuda()
    head = nn.Linear(16, 1).cuda()
    {before}
    net = {graphed}
    opt = {optimizer}
    {after}
    for number, batch in enumerate(batches):
        {start}
        net(batch).mean().backward()  # {mark}
        {end}
"""

GRAPHED = 'torch.cuda.make_graphed_callables(net, (torch.zeros(8, 16, device="cuda"),))'
EVERY_FOURTH = "(opt.step(), opt.zero_grad()) if number % 4 == 3 else None"
GIVEN = "for p in net.parameters(): p.grad = torch.zeros_like(p)"

BUGS = {
    "gradients of four batches are added": dict(end=EVERY_FOURTH),
    "gradients are set to zero in place": dict(start="opt.zero_grad(set_to_none=False)", end="opt.step()"),
    "gradients of a module are set to zero in place": dict(
        start="net.zero_grad(set_to_none=False)", end="opt.step()"
    ),
    "nobody drops them": dict(end="opt.step()"),
}
RIGHT = {
    "gradients are dropped before each backward pass": dict(start="opt.zero_grad()", end="opt.step()"),
    "parameters have gradients of their own": dict(
        after=GIVEN, start="opt.zero_grad(set_to_none=False)", end="opt.step()"
    ),
    "dropped one by one": dict(start="for p in net.parameters(): p.grad = None", end="opt.step()"),
    "a hook may copy what comes": dict(
        after="for p in net.parameters(): p.register_hook(lambda g: g.clone())", end=EVERY_FOURTH
    ),
    "nobody uses them": dict(optimizer="None"),
    "nothing is graphed": dict(graphed="net", end=EVERY_FOURTH),
    "TransformerEngine copies": dict(
        before="import transformer_engine.pytorch as te",
        graphed=GRAPHED.replace("torch.cuda", "te", 1),
        end=EVERY_FOURTH,
    ),
    "eager gradients were there before": dict(
        before='net(torch.ones(8, 16, device="cuda")).mean().backward()', end=EVERY_FOURTH
    ),
}


def _program(mark: str, parts: dict[str, str]) -> str:
    slots = dict.fromkeys(("before", "after", "start", "end"), "pass")
    slots |= {"graphed": GRAPHED, "optimizer": "torch.optim.SGD(net.parameters(), lr=0.1)"}
    return LOOP.format(**{**slots, **parts}, mark=mark)


COMPILED = 'torch.compile(net, mode="reduce-overhead")'


@pytest.mark.parametrize("graphed", [GRAPHED, COMPILED], ids=["graphed", "compiled"])
@pytest.mark.parametrize("parts", BUGS.values(), ids=BUGS)
def test_the_next_backward_pass_overwrites_the_gradients(parts: dict[str, str], graphed: str) -> None:
    check_marked_rules(_program("expect: CG811", {"graphed": graphed, **parts}))


@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT)
def test_compiled_code_gets_the_same_answers(parts: dict[str, str]) -> None:
    check_marked_rules(_program("ok: CG811", {"graphed": COMPILED, **parts}))


def test_compiled_code_without_graphs_makes_its_gradients_anew() -> None:
    parts = {"graphed": "torch.compile(net)", "end": EVERY_FOURTH}
    check_marked_rules(_program("ok: CG811", parts))


@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT)
def test_gradients_with_memory_of_their_own(parts: dict[str, str]) -> None:
    check_marked_rules(_program("ok: CG811", parts))


def test_only_a_loss_that_went_through_the_callable_fills_its_gradients() -> None:
    parts = {"end": "head(batch).mean().backward()"}
    check_marked_rules(_program("ok: CG811", {**parts, "start": "opt.zero_grad()"}))


CLASSES = """\
import torch
from torch import nn


class Accumulating:
    def __init__(self, tower: nn.Module, every: int):
        self.tower, self.every = tower.cuda(), every
        self.head = nn.Linear(64, 1).cuda()
        self.tower = torch.cuda.make_graphed_callables(self.tower, (torch.randn(8, 64, device="cuda"),))
        self.scaler = torch.amp.GradScaler()
        self.opt = torch.optim.AdamW([*self.tower.parameters(), *self.head.parameters()])

    def micro(self, batch):
        loss = self.head(self.tower(batch.cuda())).square().mean() / self.every
        self.scaler.scale(loss).backward()  # {mark}
        return loss.detach()

    def step(self, batches):
        losses = [{micro} for batch in batches]
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad()
        return torch.stack(losses).mean()


def main(loader):
    trainer = Accumulating(nn.Sequential(nn.Linear(64, 64), nn.GELU()), 4)
    for batches in loader:
        trainer.step(batches)
"""


def test_micro_batches_of_a_trainer() -> None:
    check_marked_rules(CLASSES.format(mark="expect: CG811", micro="self.micro(batch)"))
    dropped = "(self.opt.zero_grad(), self.micro(batch))[1]"
    check_marked_rules(CLASSES.format(mark="ok: CG811", micro=dropped))
