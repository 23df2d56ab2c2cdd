"""CG201: a buffer of the program that a graph fills, collected once for each replay, is one memory."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

ENGINE = """
import torch


class Engine:
    def __init__(self, net: torch.nn.Module):
        self.net = net.cuda()
        self.x = torch.zeros(16, 4, device="cuda")
        self.out = torch.zeros(16, 4, device="cuda")
        self.out.copy_(self.net(self.x))
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out.copy_(self.net(self.x))

    def run(self, x, i=0):
        self.x[: x.shape[0]].copy_(x)
        self.graph.replay()
        return self.out{part}


def main(batches, net):
    engine = Engine(net)
    results = []
    for i, x in enumerate(batches):
        results.append(engine.run(x, i){copy})  # {mark}: CG201
    {read}
"""


@pytest.mark.parametrize(
    ("part", "copy", "read", "mark"),
    [
        ("", "", "return torch.cat(results)", "expect"),
        ("[: x.shape[0]]", "", "print(torch.cat(results))", "expect"),
        ("", "", "print(results)", "expect"),
        ("", "", "return results[-1]", "ok"),
        ("", ".clone()", "return torch.cat(results)", "ok"),
        ("", ".cpu()", "return torch.cat(results)", "ok"),
        ("[i]", "", "return torch.cat(results)", "ok"),
        ("[i][:2]", "", "return torch.cat(results)", "ok"),
        ("[4 * i : 4 * i + 4]", "", "return torch.cat(results)", "ok"),
    ],
)
def test_a_buffer_is_collected(part: str, copy: str, read: str, mark: str) -> None:
    check_marked_rules(ENGINE.format(part=part, copy=copy, read=read, mark=mark))


TURNS = """
import torch


def main(batches, net):
    x = torch.zeros(16, 4, device="cuda")
    outs = [torch.zeros(16, 4, device="cuda") for _ in range({count})]
    graphs = []
    for out in outs:
        out.copy_(x * 2)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out.copy_(x * 2)
        graphs.append(graph)
    pending, turn = [], 0
    for batch in batches:
        x.copy_(batch)
        graphs[turn].replay()
        pending.append(outs[turn])  # ok: CG201
        turn = (turn + 1) % {count}
        if len(pending) == {count}:
            print(torch.stack(pending).sum())
            pending.clear()
"""


@pytest.mark.parametrize("count", ["2", "len(batches)"])
def test_buffers_take_turns(count: str) -> None:
    check_marked_rules(TURNS.format(count=count))


WRAPPED = """
import torch


class Wrapper:
    def __init__(self, step):
        self.step, self.graph, self.y = step, None, None

    def __call__(self, x):
        if self.graph is None:
            self.step(x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.step(x)
        self.graph.replay()
        return self.y


def double(x):
    return x * 2


def main(n):
    x = torch.zeros(8, device="cuda")
    step = Wrapper(double)
    seen = []
    for i in range(n):
        x.fill_(i)
        seen.append(step(x){copy})  # {mark}: CG201
    print(seen)
"""


@pytest.mark.parametrize(("copy", "mark"), [("", "expect"), (".clone()", "ok")])
def test_printing_a_list_reads_what_is_in_it(copy: str, mark: str) -> None:
    check_marked_rules(WRAPPED.format(copy=copy, mark=mark))
