"""Numbers that a function makes of other numbers change with them; defaults that nobody uses do not count."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

STEP = """
import math
import torch
import triton

@triton.jit
def sweep(x, block):
    pass

class Step:
    def __init__(self, width: int):
        self.x = torch.zeros(width, device="cuda")
        self.longest = 64
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        {use}  # {mark}: CG402
        return self.x + 1

    def capture(self):
        self.run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.run()

    def step(self, x, lengths: list[int]):
        {change}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "use",
    [
        "self.x.mul_(math.sqrt(self.longest))",
        "self.x.div_(1 + math.log2(self.longest))",
        "sweep[(triton.cdiv(self.longest, 128),)](self.x, 128)",
        "sweep[(4,)](self.x, triton.next_power_of_2(self.longest))",
    ],
)
@pytest.mark.parametrize(("change", "mark"), [("self.longest = max(lengths)", "expect"), ("pass", "ok")])
def test_a_number_made_of_one_that_changes(use: str, change: str, mark: str) -> None:
    check(STEP.format(use=use, change=change, mark=mark))


SCALED = """
import torch
import torch.nn as nn

class Guided(nn.Module):
    def __init__(self, net: nn.Module):
        super().__init__()
        self.net = net
        self.scale = torch.tensor(2.0{device})

    def forward(self, x):
        return self.net(x) * self.scale  # {mark}: CG402

class Sampler:
    def __init__(self, model: Guided):
        self.model = model
        self.x = torch.zeros(4, device="cuda")
        self.model(self.x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    def __call__(self, x, scale: float):
        self.model.scale.fill_(scale)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(("device", "mark"), [("", "expect"), (', device="cuda"', "ok")])
def test_a_scalar_of_the_host_beside_what_a_network_gives(device: str, mark: str) -> None:
    check(SCALED.format(device=device, mark=mark))


CHECKED = """
import torch

class Decoder:
    def __init__(self, end: int, checked: bool = True):
        self.end, self.checked = end, checked

    def forward(self, x):
        if self.checked and (x == self.end).any():  # {mark}: CG401
            return x
        return x * 2

class Server:
    def __init__(self, decoder: Decoder):
        self.decoder = decoder
        self.x = torch.zeros(4, device="cuda")
        self.decoder.forward(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.y = self.decoder.forward(self.x)

def main(words):
    return [{made} for word in words]
"""


@pytest.mark.parametrize(
    ("made", "mark"),
    [
        ("Server(Decoder(word, checked=False))", "ok"),
        ("Server(Decoder(word))", "expect"),
        ("(Server(Decoder(word)), Server(Decoder(word, checked=False)))", "expect"),
        ("Server(Decoder(word, checked=True))", "expect"),
    ],
)
def test_a_default_that_the_only_calls_override(made: str, mark: str) -> None:
    check(CHECKED.format(made=made, mark=mark))


BATCH = """
from dataclasses import dataclass

import torch

@dataclass
class Slots:
    rows: torch.Tensor

@dataclass
class State:
    x: torch.Tensor
    slots: Slots

class Runner:
    def __init__(self):
        self.state = State(torch.zeros(4, device="cuda"), Slots(torch.zeros(4, device="cuda")))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.state.x + self.state.slots.rows

    def step(self, slots: Slots):
        {change}  # {mark}: CG101
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("change", "mark"),
    [("self.state.slots = slots", "expect"), ("self.state.slots.rows.copy_(slots.rows)", "ok")],
)
def test_a_record_of_the_caller_in_place_of_the_recorded_one(change: str, mark: str) -> None:
    check(BATCH.format(change=change, mark=mark))
