"""CG103 and CG201: inputs that helpers have moved to the device, and records with methods."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, findings

BUILT = """\
import torch
from torch import nn


def moved(batch):
    x, target = batch
    return x.cuda(), target.cuda()


def build(net: nn.Module, batch):
    x, target = {make}  # {mark}

    def step():
        loss = nn.functional.mse_loss(net(x), target)
        loss.backward()
        return loss

    net.zero_grad(set_to_none=True)
    step()
    net.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return {kept}


def main(net: nn.Module, loader):
    graph, x, *rest = build(net.cuda(), next(iter(loader)))
    for batch, _ in loader:
        x.copy_(batch)
        graph.replay()
    return rest
"""


@pytest.mark.parametrize("make", ["moved(batch)", "batch[0].cuda(), batch[1].cuda()"])
def test_an_input_that_only_the_builder_names(make: str) -> None:
    check_marked_rules(BUILT.format(make=make, kept="graph, x, loss", mark="expect: CG103"))


@pytest.mark.parametrize("kept", ["graph, x, target, loss", "graph, x, step, loss"])
def test_an_input_that_goes_out_with_the_graph(kept: str) -> None:
    check_marked_rules(BUILT.format(make="moved(batch)", kept=kept, mark="ok: CG103"))


RECORDS = """\
from dataclasses import dataclass, fields

import torch


@dataclass
class Step:
    loss: torch.Tensor
    error: torch.Tensor

    def numbers(self):
        return {numbers}


class Run:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.body()
        with torch.cuda.graph(self.graph):
            self.out = self.body()

    def body(self):
        return Step(self.x.sum(), self.x.abs().amax())

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.out


def main(loader):
    run, kept = Run(), []
    for x in loader:
        kept.append(run(x){take})
    return [{read} for step in kept]
"""
BY_NAME = "[self.loss.item(), self.error.item()]"
BY_FIELDS = "{f.name: getattr(self, f.name).item() for f in fields(self)}"


@pytest.mark.parametrize("numbers", [BY_NAME, BY_FIELDS])
def test_records_of_outputs_with_a_method_that_reads_them(numbers: str) -> None:
    found = findings(RECORDS.format(numbers=numbers, take="", read="step.numbers()"))
    assert any(each.code == "CG201" for each in found)


@pytest.mark.parametrize("numbers", [BY_NAME, BY_FIELDS])
def test_records_whose_numbers_are_taken_at_once(numbers: str) -> None:
    found = findings(RECORDS.format(numbers=numbers, take=".numbers()", read="step"))
    assert not any(each.code == "CG201" for each in found)


STREAMS = """\
import torch


def main(loader):
    x = torch.zeros(4, device="cuda")
    slow = torch.zeros(4, device="cuda")
    copy = torch.zeros(4, device="cuda")
    other = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        slow.lerp_(x, 0.1)
    for batch in loader:
        x.copy_(batch)
        graph.replay()
        {wait}
        with torch.cuda.stream(other):
            copy.copy_(slow, non_blocking=True)  # {mark}
        torch.cuda.current_stream().wait_stream(other)
"""


def test_what_a_replay_writes_in_place_is_read_on_another_stream() -> None:
    check_marked_rules(STREAMS.format(wait="pass", mark="expect: CG202"))


def test_a_stream_that_waits_for_the_replay() -> None:
    wait = "other.wait_stream(torch.cuda.current_stream())"
    check_marked_rules(STREAMS.format(wait=wait, mark="ok: CG202"))


SIZES = """\
import torch


def sizes(low, high, step):
    size = {first}
    while low <= size <= high:
        yield size
        size {sign}= step


def main():
    pool = torch.cuda.graph_pool_handle()
    graphs = {{}}
    for n in list(sizes(8, 64, 8)):  # {mark}
        x = torch.zeros(n, 4, device="cuda")
        (x * 2).sum()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            y = (x * 2).sum()
        graphs[n] = (graph, x, y)
    return graphs
"""


def test_sizes_of_a_generator_that_counts_upwards() -> None:
    check_marked_rules(SIZES.format(first="low", sign="+", mark="expect: CG601"))


def test_sizes_of_a_generator_that_counts_downwards() -> None:
    check_marked_rules(SIZES.format(first="high", sign="-", mark="ok: CG601"))
