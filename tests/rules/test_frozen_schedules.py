"""CG402: learning rates that a schedule changes after the optimizer's step was captured."""

from __future__ import annotations

import pytest

from tests.programs import check_marks, findings_shown

PROGRAM = """
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import OneCycleLR


class Halving(lr_scheduler.LRScheduler):
    def __init__(self, optimizer, every):
        self.every = every
        super().__init__(optimizer)

    def get_lr(self):
        return [group["lr"] * 0.5 for group in self.optimizer.param_groups]


def main(batches):
    net = nn.Linear(4, 4).cuda()
    x = torch.zeros(2, 4, device="cuda")
    optimizer = torch.optim.Adam(net.parameters(), lr={rate}, capturable=True)
    schedule = {schedule}
    graph = torch.cuda.CUDAGraph()

    def step():
        optimizer.zero_grad(set_to_none=True)
        net(x).sum().backward()
        optimizer.step(){mark}

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        step()
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        schedule.step(){change}
"""

MARK = "  # expect: CG402"
SCHEDULES = [
    "OneCycleLR(optimizer, max_lr=0.1, total_steps=100)",
    "lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step)",
    "torch.optim.lr_scheduler.SequentialLR(optimizer, [lr_scheduler.ConstantLR(optimizer)], [5])",
    "lr_scheduler.ChainedScheduler([lr_scheduler.ExponentialLR(optimizer, 0.9)])",
    "Halving(optimizer, 10)",
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_rate_that_is_a_number_stays_in_the_graph(schedule: str) -> None:
    check_marks(PROGRAM.format(rate="1e-3", schedule=schedule, mark=MARK, change=MARK))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_rate_on_the_device_is_filled_in_place(schedule: str) -> None:
    rate = 'torch.tensor(1e-3, device="cuda")'
    check_marks(PROGRAM.format(rate=rate, schedule=schedule, mark="", change=""))


OF_TRANSFORMERS = """
import torch
from transformers import get_cosine_schedule_with_warmup


def main(net: torch.nn.Module, args, batches):
    optimizer = torch.optim.SGD(net.parameters(), lr={rate})
    schedule = get_cosine_schedule_with_warmup(optimizer, args.warmup, args.total)
    x = torch.zeros(2, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).sum().backward()
        optimizer.step()
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        schedule.step()
"""


@pytest.mark.parametrize(
    ("rate", "frozen"),
    [
        ("0.1", True),
        ("args.lr", True),
        ("args['lr']", True),
        ("args", False),
        ("torch.tensor(args.lr, device='cuda')", False),
    ],
)
def test_a_schedule_of_transformers_and_a_rate_from_options(rate: str, frozen: bool) -> None:
    found = findings_shown(OF_TRANSFORMERS.format(rate=rate), select=("CG402",))
    assert bool(found) is frozen
