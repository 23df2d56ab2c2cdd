"""Numbers that choose a graph: of keys taken apart, kept beside one graph, or that stand while a call goes on."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

TAKEN_APART = """
import torch


def record(keys, body):
    graphs = {{}}
    for key in keys:
        body(key)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            body(key)
        graphs[{kept}] = graph
    return graphs


class Rounds:
    def __init__(self, rows: int, last: int, slots):
        self.x = torch.zeros(rows, device="cuda")
        self.last, self.slots = last, slots
        self.graphs = {{}}

    def prepare(self, sizes: list[int]):
        keys = [(size, turn) for size in sorted(sizes) for turn in range(self.last, -1, -1)]
        self.graphs = record(keys, self.body)

    def run(self, size: int, turn: int):
        self.graphs[{asked}].replay()

    def body(self, key):
        size, turn = key
        if turn == 0:  # {mark}: CG402
            self.x.zero_()
        if turn in self.slots:  # {mark}: CG402
            self.x.mul_(2)
"""


@pytest.mark.parametrize(
    ("kept", "asked", "mark"), [("key", "size, turn", "ok"), ("key[0]", "size", "expect")]
)
def test_a_key_that_the_captured_code_takes_apart(kept: str, asked: str, mark: str) -> None:
    check_marked_rules(TAKEN_APART.format(kept=kept, asked=asked, mark=mark))


BESIDE = """
import torch


class Learner:
    def __init__(self, width: int):
        self.net = torch.nn.Linear(width, width).cuda()
        self.graph = None
        self.key = None
        self.x = None

    def core(self, x, steps: int):
        for _ in range(steps):  # {mark}: CG402
            x["rows"].copy_(self.net(x["rows"]))

    def ensure(self, x: dict[str, torch.Tensor], steps: int):
        key = ({parts}, tuple((name, tuple(value.shape)) for name, value in x.items()))
        if self.key == key and self.graph is not None:
            for name, value in self.x.items():
                value.copy_(x[name])
            return
        self.key = key
        self.x = {{name: value.clone() for name, value in x.items()}}
        self.core(self.x, steps)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.core(self.x, steps)
        self.graph = graph

    def update(self, x: dict[str, torch.Tensor], steps: int):
        self.ensure(x, steps)
        self.graph.replay()
"""


@pytest.mark.parametrize(("parts", "mark"), [("steps", "ok"), ("len(x)", "expect")])
def test_a_key_kept_beside_one_graph(parts: str, mark: str) -> None:
    check_marked_rules(BESIDE.format(parts=parts, mark=mark))


TIMED = """
import torch


def timed(step, rounds: int):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    step()
    end.record()
    torch.cuda.synchronize()
    times = max(1, int(20 / start.elapsed_time(end)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):  # {mark}: CG402
            step()
    for _ in range(rounds):
        graph.replay()
        {after}


x = torch.ones(8, device="cuda")
timed(lambda: x.mul_(2), 5)
timed(lambda: x.mul_(3), 5)
"""


@pytest.mark.parametrize(
    ("after", "mark"), [("torch.cuda.synchronize()", "ok"), ("times = measure()", "expect")]
)
def test_a_number_of_the_call_that_goes_on(after: str, mark: str) -> None:
    program = TIMED.format(after=after, mark=mark)
    check_marked_rules(program.replace("def timed", "from clocks import measure\n\n\ndef timed"))
