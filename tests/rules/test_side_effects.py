"""CG403, and CG402 for host state that captured code moves on or takes from lists."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

COUNTER = """
import torch


class Engine:
    def __init__(self, net):
        self.net = net
        self.count = 0
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        {captured}  # {mark}: CG403
        return self.net(self.x)

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        {after}
        if self.count % 10 == 0:
            print("ten more")
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("captured", "after", "mark"),
    [
        ("self.count += 1", "pass", "expect"),
        ("self.count = self.count + 1", "pass", "expect"),
        ("self.count += 1", "self.count += 1", "ok"),
        ("self.count = 3", "pass", "ok"),
        ("pass", "self.count += 1", "ok"),
    ],
)
def test_a_counter_that_eager_code_asks(captured: str, after: str, mark: str) -> None:
    check_marks(COUNTER.format(captured=captured, after=after, mark=mark))


def test_a_counter_that_nobody_asks() -> None:
    check_marks(
        """
import torch


class Engine:
    def __init__(self, net):
        self.net = net
        self.count = 0
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.count += 1  # ok: CG403
            self.y = self.net(self.x)

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_a_global_counter() -> None:
    check_marks(
        """
import torch

calls = 0


def forward(net, x):
    global calls
    calls += 1  # expect: CG403
    return net(x)


def run(net, batches):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = forward(net, x)
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        print(calls)
"""
    )


def test_a_counter_of_an_enclosing_function() -> None:
    check_marks(
        """
import torch


def run(net, batches):
    done = 0

    def forward(x):
        nonlocal done
        done += 1  # expect: CG403
        return net(x)

    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = forward(x)
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        print(done)
"""
    )


def test_an_entry_of_a_dict() -> None:
    check_marks(
        """
import torch


class Engine:
    def __init__(self, net):
        self.net = net
        self.seen = {"tokens": 0}
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.seen["tokens"] += 4  # expect: CG403
            self.y = self.net(self.x)

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        print(self.seen["tokens"])
        return self.y.clone()
"""
    )


FLAG = """
import torch


class Stream:
    def __init__(self, net):
        self.net = net
        self.first = True
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        {captured}  # {mark}: CG403
        return self.net(self.x)

    def reset(self):
        self.first = True

    def __call__(self, x):
        if self.first:
            self.x.zero_()
        self.x.copy_(x)
        self.graph.replay()
        {after}
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("captured", "after", "mark"),
    [
        ("self.first = False", "pass", "expect"),
        ("self.first = False", "self.first = False", "ok"),
        ("pass", "self.first = False", "ok"),
        ("self.first = True", "pass", "ok"),
    ],
)
def test_a_flag_that_captured_code_lowers_and_eager_code_raises(captured: str, after: str, mark: str) -> None:
    check_marks(FLAG.format(captured=captured, after=after, mark=mark))


def test_a_setting_that_captured_code_fills_in_once() -> None:
    check_marks(
        """
import torch


class Engine:
    def __init__(self, net):
        self.net = net
        self.width = None
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            if self.width is None:
                self.width = 4  # ok: CG403
            self.y = self.net(self.x)

    def __call__(self, x):
        self.x.copy_(x[: self.width])
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_a_context_that_is_put_back() -> None:
    check_marks(
        """
import contextlib

import torch

current = None


@contextlib.contextmanager
def using(batch):
    global current
    before, current = current, batch
    try:
        yield
    finally:
        current = before  # ok: CG403


def run(net, batches):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with using(1):
            y = net(x)
    for batch in batches:
        with using(2):
            graph.replay()
            print(current)
"""
    )


LIST = """
import torch


class Slot:
    def __init__(self, of):
        self.of = of


class Recorder:
    def __init__(self, net):
        self.net = net
        self.kept = []
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        {warmup}
        {clear}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        y = self.net(self.x)
        self.kept.append({entry})  # {mark}: CG403
        return y

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    def report(self):
        return {report}
"""


@pytest.mark.parametrize(
    ("entry", "warmup", "clear", "report", "mark"),
    [
        ("y.mean()", "self.forward()", "pass", "torch.stack(self.kept).mean()", "expect"),
        ("4", "pass", "pass", "sum(self.kept)", "expect"),
        ("4", "pass", "pass", "[k for k in self.kept]", "expect"),
        ("y.mean()", "self.forward()", "self.kept.clear()", "torch.stack(self.kept).mean()", "ok"),
        ("y.mean()", "pass", "pass", "torch.stack(self.kept).mean()", "ok"),
        ("y.mean()", "self.forward()", "pass", "self.kept[-1].clone()", "ok"),
        ("4", "pass", "pass", "None", "ok"),
        ("Slot(y)", "pass", "pass", "[k for k in self.kept]", "ok"),
    ],
)
def test_a_list_that_captured_code_adds_to(
    entry: str, warmup: str, clear: str, report: str, mark: str
) -> None:
    check_marks(LIST.format(entry=entry, warmup=warmup, clear=clear, report=report, mark=mark))


# CG402


OFFSET = """
import torch


class Cache:
    def __init__(self, net):
        self.net = net
        self.rows = torch.zeros(64, 4, device="cuda")
        self.used = 0
        self.x = torch.zeros(1, 4, device="cuda")
        self.net(self.rows)
        self.graph = torch.cuda.CUDAGraph()

    def forward(self):
        {start}
        for _ in range(2):
            self.rows[self.used : self.used + 1].copy_(self.x)  # {mark}: CG402
            self.used += 1
        return self.net(self.rows)

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


def test_an_offset_that_captured_code_moves_on() -> None:
    check_marks(OFFSET.format(start="pass", mark="expect"))
    check_marks(OFFSET.format(start="self.used = 0", mark="ok"))


LENGTHS = """
import torch


class Planner:
    def __init__(self, net):
        self.net = net
        self.lengths = [1, 1]
        self.split = torch.ones(1, device="cuda")
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()

    def forward(self):
        self.split.fill_({number})  # {mark}: CG402
        return self.net(self.x) / self.split

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def step(self, x, lengths: list[int]):
        {store}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "number",
    [
        "sum(self.lengths)",
        "max(self.lengths)",
        "len(self.lengths)",
        "self.lengths[0]",
        "max(1, sum(min(n, 8) for n in self.lengths) // 4)",
    ],
)
def test_numbers_from_a_list_that_is_replaced(number: str) -> None:
    check_marks(LENGTHS.format(number=number, store="self.lengths = list(lengths)", mark="expect"))
    check_marks(LENGTHS.format(number=number, store="pass", mark="ok"))
