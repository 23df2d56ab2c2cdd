"""Items of dicts that captured code reads, stored anew under names that are not known."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

INPUTS = """\
import torch

class Runner:
    def __init__(self, example: dict[str, torch.Tensor]):
        self.static = {{name: value.cuda() for name, value in example.items()}}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.static["ids"] * 2 + self.static["mask"]

    def step(self, batch: dict[str, torch.Tensor]):
        {statement}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "statement",
    [
        "self.static.update(batch)  # expect: CG101",
        "self.static.update(ids=batch['ids'].cuda())  # expect: CG101",
        "self.static['ids'] = batch['ids']  # expect: CG101",
        "self.static = {name: value.cuda() for name, value in batch.items()}  # expect: CG101",
        """for name, value in batch.items():
            self.static[name] = value.cuda()  # expect: CG101""",
        """for name in batch:
            self.static[name] = batch[name].cuda()  # expect: CG101""",
    ],
)
def test_inputs_by_name_are_bound_anew(statement: str) -> None:
    check_marks(INPUTS.format(statement=statement))


@pytest.mark.parametrize(
    "statement",
    [
        """for name, value in batch.items():
            self.static[name].copy_(value)""",
        """for name, value in batch.items():
            if name not in self.static:
                self.static[name] = value.cuda()""",
        "self.last = {name: value.cuda() for name, value in batch.items()}",
    ],
)
def test_inputs_by_name_are_written_or_added(statement: str) -> None:
    check_marks(INPUTS.format(statement=statement))


CACHE = """\
import torch

class Cache:
    def __init__(self, names: list[str]):
        self.names = names
        self.blocks = {{}}
        self.allocate()

    def allocate(self):
        for name in self.names:
            self.blocks[name] = torch.zeros(8, device="cuda"){mark}

class Runner:
    def __init__(self, names: list[str]):
        self.cache = Cache(names)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            total = torch.zeros(8, device="cuda")
            for name in names:
                total = total + self.cache.blocks[name]
            self.total = total

    def wake(self):
        {statement}

    def step(self):
        self.graph.replay()
        return self.total.clone()
"""


def test_everything_in_a_dict_is_allocated_again() -> None:
    program = CACHE.format(
        mark="  # expect: CG101", statement="self.cache.blocks.clear()\n        self.cache.allocate()"
    )
    check_marks(program)


def test_everything_in_a_dict_is_cleared_in_place() -> None:
    statement = "for block in self.cache.blocks.values():\n            block.zero_()"
    check_marks(CACHE.format(mark="", statement=statement))


SPREAD = """\
import torch

class Runner:
    def __init__(self, net: torch.nn.Module, ids: torch.Tensor):
        self.net = net
        self.static = {{"ids": ids.cuda(), "mask": torch.ones(8, device="cuda")}}
        net(**self.static)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = {use}

    def step(self, ids: torch.Tensor):
        {statement}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "use",
    [
        "net(**self.static)",
        "sum(self.static.values()) * 2",
        "torch.stack([v for _, v in self.static.items()])",
    ],
)
def test_a_dict_that_is_read_as_a_whole_is_replaced(use: str) -> None:
    statement = "self.static = {'ids': ids.cuda(), 'mask': self.static['mask']}  # expect: CG101"
    check_marks(SPREAD.format(use=use, statement=statement))


@pytest.mark.parametrize("use", ["net(**self.static)", "sum(self.static.values()) * 2"])
def test_a_dict_that_is_read_as_a_whole_is_refilled(use: str) -> None:
    check_marks(SPREAD.format(use=use, statement="self.static['ids'].copy_(ids)"))
    check_marks(SPREAD.format(use=use, statement="self.static = dict(self.static)"))
