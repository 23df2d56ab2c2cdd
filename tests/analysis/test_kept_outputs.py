"""Outputs of a graph that records and queues carry past the next replay."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

RECORDS = """\
from {module} import {maker}
from typing import {other}
import torch

{decorator}
class Output{base}:
    scores: torch.Tensor
    rows: torch.Tensor

class Runner:
    def __init__(self, net: torch.nn.Module):
        self.x = torch.zeros(8, device="cuda")
        net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            y = net(self.x)
            self.output = Output(y.softmax(-1), y.argmax(-1))

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.output

def run(net: torch.nn.Module, inputs: list[torch.Tensor]):
    runner = Runner(net)
    {statement}
"""
NAMED = {
    "module": "collections",
    "maker": "deque",
    "other": "NamedTuple",
    "decorator": "",
    "base": "(NamedTuple)",
}
DATA = {"module": "dataclasses", "maker": "dataclass", "other": "Any", "decorator": "@dataclass", "base": ""}


@pytest.mark.parametrize("form", [NAMED, DATA])
@pytest.mark.parametrize(
    "statement",
    [
        """kept = []
    for x in inputs:
        kept.append(runner(x))  # expect: CG201
    return torch.stack([each.scores for each in kept])""",
        """kept = {}
    for step, x in enumerate(inputs):
        kept[step] = runner(x)  # expect: CG201
    return [each.rows.sum() for each in kept.values()]""",
    ],
)
def test_a_record_of_outputs_is_kept(form: dict[str, str], statement: str) -> None:
    check_marks(RECORDS.format(statement=statement, **form))


@pytest.mark.parametrize("form", [NAMED, DATA])
@pytest.mark.parametrize(
    "statement",
    [
        """kept = []
    for x in inputs:
        kept.append(runner(x).scores.clone())
    return torch.stack(kept)""",
        """total = torch.zeros(8, device="cuda")
    for x in inputs:
        output = runner(x)
        total = total + output.scores
    return total""",
    ],
)
def test_a_record_of_outputs_is_used_before_the_next_replay(form: dict[str, str], statement: str) -> None:
    check_marks(RECORDS.format(statement=statement, **form))


QUEUE = """\
import queue
import torch

class Engine:
    def __init__(self, net: torch.nn.Module):
        self.x = torch.zeros(8, device="cuda")
        self.results = queue.Queue()
        net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = net(self.x)

    def run(self, inputs: list[torch.Tensor]):
        for x in inputs:
            self.x.copy_(x)
            self.graph.replay()
            self.results.put({value})  # {mark}

    def collect(self):
        return self.results.get().cpu()
"""


@pytest.mark.parametrize("value", ["self.y", "self.y[:4]", "self.y.view(-1)"])
def test_an_output_is_put_into_a_queue(value: str) -> None:
    check_marks(QUEUE.format(value=value, mark="expect: CG201"))


@pytest.mark.parametrize("value", ["self.y.clone()", "self.y.cpu()", "self.y * 2"])
def test_a_copy_is_put_into_a_queue(value: str) -> None:
    check_marks(QUEUE.format(value=value, mark="ok: CG201"))


def test_a_table_by_length_is_found_by_the_capture_after_warm_up() -> None:
    check_marks(
        """
        import torch
        from torch import nn

        class Positions(nn.Module):
            def __init__(self):
                super().__init__()
                self.tables = {}

            def forward(self, x):
                size = x.shape[1]
                if size not in self.tables:
                    self.tables[size] = torch.arange(size).to(x.device)
                return x + self.tables[size]

        class Runner:
            def __init__(self, width: int):
                self.net = nn.Sequential(nn.Conv1d(width, width, 3), Positions()).cuda()
                self.x = torch.zeros(1, width, 64, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                for _ in range(2):
                    self.net(self.x)
                with torch.cuda.graph(self.graph):
                    self.y = self.net(self.x)
        """
    )


def test_a_copy_of_something_else_beside_an_output_does_not_show_that_outputs_are_copied() -> None:
    check_marks(
        """
        import torch

        _BUFFERS = {}

        def buffers(size: int):
            held = _BUFFERS.get("pair")
            if held is None or held[1].shape[0] < size:
                row = torch.arange(size, device="cuda")
                held = (row.expand(size, -1).clone(), torch.empty(size, device="cuda"))
                _BUFFERS["pair"] = held
            return held[0][:1], held[1][:1]  # ok: CG201

        def run(x: torch.Tensor, size: int):
            buffers(size)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                index, values = buffers(size)
                values.add_(index)
            graph.replay()
            graph.replay()
            buffers(size)
        """
    )


def test_a_helper_that_copies_what_is_a_tensor_copies_all_of_it() -> None:
    program = """
        import torch

        def copied(out):
            if isinstance(out, torch.Tensor):
                return out.clone()
            if isinstance(out, tuple):
                return tuple(copied(part) for part in out)
            return out

        class Runner:
            def __init__(self, net):
                self.net = net
                self.x = torch.zeros(8, device="cuda")
                self.graph = torch.cuda.CUDAGraph()

            def capture(self):
                self.net(self.x)
                torch.cuda.synchronize()
                with torch.cuda.graph(self.graph):
                    self.out = self.net(self.x)
                    self.pair = self.x * 2, self.x * 3

            def step(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return copied(self.out)  # ok: CG201

            def both(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return self.pair[0].clone(), self.pair[1]  # expect: CG201
    """
    check_marks(program)


MEMORY = """
    import torch

    class Runner:
        def __init__(self, tower: torch.nn.Module):
            self.x = torch.zeros(4, 8, device="cuda")
            tower(self.x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = tower(self.x)

        def run(self, x: torch.Tensor):
            self.x.copy_(x)
            self.graph.replay()
            return self.y

    class Encoder:
        def __init__(self, tower: torch.nn.Module):
            self.runner = Runner(tower)
            self.known = {{}}

        def embed(self, pixels: torch.Tensor, name: int):
            if name in self.known:
                return self.known[name]
            out = self.runner.run(pixels){copy}
            self.known[name] = out  # {mark}: CG201
            return out
"""


def test_outputs_remembered_under_a_name() -> None:
    check_marked_rules(MEMORY.format(copy="", mark="expect"))


def test_copies_of_outputs_remembered_under_a_name() -> None:
    check_marked_rules(MEMORY.format(copy=".clone()", mark="ok"))
