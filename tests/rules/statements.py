"""One statement in a captured function, three calls below the capture: does a rule speak of it?"""

from __future__ import annotations

from tests.programs import check_marked_rules

PROGRAM = """\
import copy
import math
import pickle

import numpy as np
import torch
import torch.nn.functional as F


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(16, 16))
        self.heads = 4

    def forward(self, hidden, lengths, mask, count, loss, staged, rows):
        {statement}  # {mark}
        return hidden @ self.weight


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer() for _ in range(2)])

    def forward(self, hidden, *rest):
        for layer in self.layers:
            hidden = layer(hidden, *rest)
        return hidden


def capture():
    model = Model().cuda()
    hidden = torch.rand(8, 16, device="cuda")
    lengths = torch.arange(8, device="cuda")
    mask = torch.zeros(8, dtype=torch.bool, device="cuda")
    count = torch.tensor(3, device="cuda")
    loss = torch.zeros((), device="cuda")
    staged = torch.rand(8, pin_memory=True)
    rows = torch.tensor([0, 1])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(hidden, lengths, mask, count, loss, staged, rows)
    graph.replay()
    return out.clone()
"""


def fires(code: str, statement: str) -> None:
    """Assert that the rule reports the statement.

    The names: `hidden` (8, 16), `lengths` int (8,), `mask` bool (8,), `count` and `loss` 0-d, all on the
    device; `staged` pinned, `rows` on the CPU.
    """
    check_marked_rules(PROGRAM.format(statement=statement, mark=f"expect: {code}"))


def is_silent(code: str, statement: str) -> None:
    """Assert that the rule says nothing of the statement, nor of anything else in the program."""
    check_marked_rules(PROGRAM.format(statement=statement, mark=f"ok: {code}"))
