"""Numbers that are tested on the way to a replay, and items that are filled where they are empty."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

NUMBERS = """
import torch

class Batch:
    def __init__(self, long: int):
        self.long = long

class Runner:
    def __init__(self):
        self.batch = Batch(0)
        self.x = torch.zeros(8, 4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def forward(self, x):
        n = self.batch.long
        return torch.cat([x[:n] * 2, x[n:] * 3])  # {mark}

    def record(self):
        self.forward(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.forward(self.x)

    def step(self, x, long: int):
        self.batch = Batch(long)
        self.x.copy_(x)
        {test}
            {arm}
        {after}
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("test", "arm", "after", "mark"),
    [
        ("if long > 0:", "return self.forward(x)", "self.graph.replay()", "ok: CG402"),
        ("if long:", "return self.forward(x)", "self.graph.replay()", "ok: CG402"),
        ("if long != 0 or x is None:", "return self.forward(x)", "self.graph.replay()", "ok: CG402"),
        ("if not long:", "self.graph.replay()", "pass", "ok: CG402"),
        ("if long > 4:", "return self.forward(x)", "self.graph.replay()", "expect: CG402"),
        ("if long == 3:", "self.graph.replay()", "pass", "expect: CG402"),
        ("if long < 0:", "raise ValueError(long)", "self.graph.replay()", "expect: CG402"),
    ],
)
def test_a_test_that_leaves_the_number_of_the_capture(test: str, arm: str, after: str, mark: str) -> None:
    check_marks(NUMBERS.format(test=test, arm=arm, after=after, mark=mark))


ITEMS = """
import torch

class Cache:
    def __init__(self, layers: int):
        self.entries = [None] * layers

    def update(self, layer: int, value: torch.Tensor):
        if {test}:
            self.entries[layer] = value.clone()  # {mark}
        self.entries[layer].copy_(value)

class Decoder:
    def __init__(self, layers: int):
        self.layers = layers
        self.cache = Cache(layers)
        self.x = torch.zeros(4, device="cuda")
        self.graph = None

    def decode(self):
        x = self.x
        for layer in range(self.layers):
            x = x + self.cache.entries[layer]
        return x

    def run(self, given: torch.Tensor):
        for layer in range(self.layers):
            self.cache.update(layer, given.cuda())
        if self.graph is None:
            self.decode()
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.decode()
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("test", "mark"), [("self.entries[layer] is None", "ok: CG101"), ("given_anew", "expect: CG101")]
)
def test_an_item_that_is_filled_where_it_is_empty(test: str, mark: str) -> None:
    check_marks(ITEMS.format(test=test.replace("given_anew", "value.dim() > 0"), mark=mark))
