"""Engines whose graphs are replayed by an inner method only, optimizers of the program's own, rings of events."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

ENGINE = """
import collections
import torch

class Engine:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.waiting = collections.deque()
        self.table = torch.zeros(8, 4, device="cuda")
        self.net(self.table)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.table)

    def step(self):
        if self.waiting:
            return self.net(self.waiting.popleft())
        {write}
        self.graph.replay()
        return self.y.clone()

    def generate(self, prompts: list[torch.Tensor]):
        for prompt in prompts:
            self.waiting.append(prompt)
        while self.waiting:
            self.step()
"""


@pytest.mark.parametrize(
    "write",
    ["self.table = torch.zeros(8, 8, device='cuda')  # expect: CG101", "self.table.zero_()  # ok: CG101"],
)
def test_an_inner_step_that_replays_is_lived_through(write: str) -> None:
    check_marks(ENGINE.format(write=write))


OPTIMIZER = """
import torch

class Own(torch.optim.Optimizer):
    def __init__(self, params, lr: float = 0.1):
        super().__init__(params, dict(lr=lr))
        for group in self.param_groups:
            group["rate"] = torch.tensor(group["lr"], device="cuda")

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                {apply}

def train(net: torch.nn.Module, batches):
    opt = Own(net.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(opt, 10)
    x = torch.zeros(8, 8, device="cuda")
    net(x).sum().backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).sum().backward()
        opt.step()
        for p in net.parameters():
            p.grad.zero_()
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        schedule.step()
"""


@pytest.mark.parametrize(
    "apply",
    ["p.sub_(p.grad * group['lr'])  # expect: CG402", "p.sub_(p.grad * group['rate'])  # ok: CG402"],
)
def test_the_rate_of_an_own_optimizer(apply: str) -> None:
    check_marked_rules(OPTIMIZER.format(apply=apply))


def test_gradients_may_be_cleared_at_the_end_of_each_replay() -> None:
    check_marks(OPTIMIZER.format(apply="p.sub_(p.grad)").replace("opt.zero_grad(set_to_none=True)", "pass"))


RING = """
import torch

class Ring:
    def __init__(self, net: torch.nn.Module):
        self.uploads, self.number = torch.cuda.Stream(), 0
        self.xs = [torch.zeros(8, device="cuda") for _ in range(2)]
        self.ready = [torch.cuda.Event() for _ in range(2)]
        self.graphs = []
        for x in self.xs:
            net(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = net(x)
            self.graphs.append((graph, y))

    def step(self, batch):
        index = self.number % 2
        self.number += 1
        graph, y = self.graphs[index]
        with torch.cuda.stream(self.uploads):
            self.xs[index].copy_(batch, non_blocking=True)  {mark}
            self.ready[index].record()
        {wait}
        graph.replay()
        return y.clone()
"""


@pytest.mark.parametrize(
    ("wait", "mark"),
    [
        ("torch.cuda.current_stream().wait_event(self.ready[index])", "# ok: CG105"),
        ("self.number += 1", "# expect: CG105"),
    ],
)
def test_a_stream_waits_for_one_of_several_events(wait: str, mark: str) -> None:
    check_marked_rules(RING.format(wait=wait, mark=mark))
