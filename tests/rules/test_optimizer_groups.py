"""The parameter groups of a captured optimizer: given as dicts, and changed after the capture."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """\
import torch
from torch import nn


class Run:
    def __init__(self, net: nn.Module):
        self.net = net.cuda()
        self.x = torch.zeros(4, 4, device="cuda")
        self.opt = {make}
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        self.net(self.x).mean().backward()
        self.opt.step(){at_step}

    def capture(self):
        for _ in range(3):
            self.step()
        with torch.cuda.graph(self.graph):
            self.step()

    def run(self, loader):
        for index, x in enumerate(loader):
            self.x.copy_(x)
            {change}
            self.graph.replay()


def main(net, loader):
    run = Run(net)
    run.capture()
    run.run(loader)
"""
SGD = "torch.optim.SGD(net.parameters(), lr=0.1{more})"
GROUPS = 'torch.optim.AdamW([{{"params": net.parameters(), "capturable": True}}, {{"params": []{more}}}])'


@pytest.mark.parametrize("name", ["lr", "weight_decay", "momentum"])
def test_an_option_that_is_changed_after_the_capture(name: str) -> None:
    change = f'self.opt.param_groups[0]["{name}"] = 0.1 / (index + 1)  # expect: CG402'
    make = SGD.format(more=", weight_decay=0.1")
    check_marked_rules(PROGRAM.format(make=make, at_step="  # expect: CG402", change=change))


def test_an_entry_that_the_step_does_not_compute_with() -> None:
    change = 'self.opt.param_groups[0]["name"] = str(index)  # ok: CG402'
    check_marked_rules(PROGRAM.format(make=SGD.format(more=""), at_step="", change=change))


def test_one_group_that_cannot_be_captured() -> None:
    make = GROUPS.format(more="")
    check_marked_rules(PROGRAM.format(make=make, at_step="  # expect: CG804", change="pass"))


def test_groups_that_can_all_be_captured() -> None:
    make = GROUPS.format(more=', "capturable": True')
    check_marked_rules(PROGRAM.format(make=make, at_step="  # ok: CG804", change="pass"))
