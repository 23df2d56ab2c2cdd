"""Tests that hang together: where a value is None because of a test, that test is known there."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """
import torch


class Config:
    def __init__(self, ranks: int, wide: bool):
        self.ranks = ranks
        self.wide = wide


class Step:
    def __init__(self, net, config: Config):
        self.net = net
        self.config = config
        self.count = 1
        self.x = torch.zeros(4, device="cuda")
        counts = {made}
        self.run(counts)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.run(counts)

    def run(self, counts):
        y = self.net(self.x)
        if {test}:
            y = y * self.count  # {mark}: CG402
        return y

    def __call__(self, x, count: int):
        self.count = count
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""

MANY = "self.config.ranks > 1"
COUNTS = "torch.ones(4, device='cuda')"


@pytest.mark.parametrize(
    ("made", "test", "mark"),
    [
        (f"{COUNTS} if {MANY} else None", f"counts is None and {MANY}", "ok"),
        (f"{COUNTS} if {MANY} else None", f"{MANY} and counts is None", "ok"),
        (f"{COUNTS} if {MANY} else None", "counts is None and self.config.wide", "expect"),
        (f"{COUNTS} if {MANY} else None", f"counts is not None and {MANY}", "expect"),
        (f"None if {MANY} else {COUNTS}", f"counts is not None and {MANY}", "ok"),
        (f"None if {MANY} else {COUNTS}", f"counts is None and {MANY}", "expect"),
        (f"{COUNTS} if {MANY} else None", f"({MANY} and self.config.wide) and counts is None", "ok"),
        (f"{COUNTS} if {MANY} else None", f"({MANY} or self.config.wide) and counts is None", "expect"),
    ],
)
def test_a_value_that_is_none_because_of_a_test(made: str, test: str, mark: str) -> None:
    check_marked_rules(PROGRAM.format(made=made, test=test, mark=mark))


SETTINGS = """
import torch


class Mixer(torch.nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.left = torch.nn.Linear(width, width)
        self.right = torch.nn.Linear(width, width)
        self.both: torch.Tensor | None = None

    def forward(self, x):
        self.join()
        return x @ self.both

    def join(self):
        if self.both is None:
            self.both = torch.cat([self.left.weight, self.right.weight]).detach()  # {mark}: CG101

    def unjoin(self):
        self.both = None  # {mark}: CG101


class Server:
    def __init__(self, width: int, graphs: bool, fresh: bool):
        self.model = Mixer(width).cuda()
        self.graphs = graphs
        self.fresh = fresh
        self.table = {{}}

    def prepare(self):
        {prepare}
            self.model.unjoin()
        self.model.join()

    def capture(self, size):
        x = torch.zeros(size, 64, device="cuda")
        self.model(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = self.model(x)
        return graph, x, out

    def forward(self, rows: torch.Tensor, ready: bool):
        size = rows.shape[0]
        self.prepare()
        {decide}
        if use:
            if size not in self.table:
                self.table[size] = self.capture(size)
            graph, x, out = self.table[size]
            x.copy_(rows)
            graph.replay()
            return out.clone()
        return self.model(rows)
"""

SEVERAL = "can = self.graphs and ready\n        use = can and size < 8"
LEFT = "if not self.graphs:\n            return self.model(rows)\n        use = ready and size < 8"


@pytest.mark.parametrize(
    ("prepare", "decide", "mark"),
    [
        ("if not self.graphs:", "use = self.graphs", "ok"),
        ("if not self.graphs:", SEVERAL, "ok"),
        ("if not self.graphs and self.fresh:", SEVERAL, "ok"),
        ("if not self.graphs:", LEFT, "ok"),
        ("if self.graphs:", SEVERAL, "expect"),
        ("if self.fresh:", SEVERAL, "expect"),
        ("if self.fresh:", LEFT, "expect"),
        ("if not self.graphs or self.fresh:", SEVERAL, "expect"),
        ("if not self.graphs:", "use = ready and size < 8", "expect"),
    ],
)
def test_what_is_done_only_where_nothing_is_captured(prepare: str, decide: str, mark: str) -> None:
    check_marked_rules(SETTINGS.format(prepare=prepare, decide=decide, mark=mark))


NESTED = PROGRAM.replace(
    """        if {test}:
            y = y * self.count""",
    """        if {test}:
            if counts is None:
                y = y * self.count""",
)


@pytest.mark.parametrize(
    ("test", "mark"),
    [
        (f"{MANY} and self.config.wide is not False", "ok"),
        (f"self.net and (self.config.wide or {MANY})", "expect"),
        ("self.config.wide is not False and self.net is not None", "expect"),
    ],
)
def test_each_part_of_a_conjunction_holds_behind_it(test: str, mark: str) -> None:
    check_marked_rules(NESTED.format(made=f"{COUNTS} if {MANY} else None", test=test, mark=mark))
