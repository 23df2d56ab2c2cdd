"""Outputs on their way to consumers, counts of rounds before a capture, and iterators in captured code."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

ENGINE = """
import queue
import torch

class Engine:
    def __init__(self, net: torch.nn.Module):
        self.net, self.calls = net, 0
        self.x = torch.zeros(8, device="cuda")
        self.results = queue.Queue()
        self.graph = None

    def record(self):
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)
"""


@pytest.mark.parametrize(
    "body",
    [
        "self.results.put(self.y[0])  # expect: CG201",
        "self.results.put(self.y[0].clone())  # ok: CG201",
        "self.results.put(self.y[0])  # ok: CG201\n        self.results.join()",
        "future.set_result(self.y[:4])  # expect: CG201",
        "future.set_result(self.y[:4].cpu())  # ok: CG201",
    ],
)
def test_outputs_on_their_way_to_a_consumer(body: str) -> None:
    program = f"""{ENGINE}
    def step(self, x, future):
        if self.graph is None:
            self.record()
        self.x.copy_(x)
        self.graph.replay()
        {body}
"""
    check_marks(program)


def test_a_capture_after_some_rounds_is_found() -> None:
    check_marks(
        f"""{ENGINE}
    def __call__(self, x: torch.Tensor):
        self.calls += 1
        if self.calls <= 11:
            return self.net(x)
        if self.graph is None:
            self.record()
        self.x = x  # expect: CG101
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_what_is_done_in_some_rounds_only_is_seen_by_the_next() -> None:
    check_marks(
        f"""{ENGINE}
    def __call__(self, x: torch.Tensor):
        if self.graph is None:
            self.record()
        self.x.copy_(x)
        self.graph.replay()
        self.calls += 1
        if self.calls % 100 == 0:
            self.x = torch.zeros_like(self.x)  # expect: CG101
        return self.y.clone()
"""
    )


@pytest.mark.parametrize(
    ("taken", "mark"),
    [("next(batches)", "# expect: CG403"), ("next(iter([self.x]))", "# ok: CG403")],
)
def test_an_iterator_of_the_caller_moves_on_once(taken: str, mark: str) -> None:
    check_marks(
        f"""{ENGINE}
    def run(self, batches):
        return self.net({taken})  {mark}

    def train(self, batches):
        self.run(batches)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.run(batches)
        self.graph.replay()
"""
    )


@pytest.mark.parametrize(
    ("value", "mark"),
    [
        ("max([p.grad.norm() for p in self.net.parameters()])", "# expect: CG302"),
        ("torch.stack([p.grad.norm() for p in self.net.parameters()]).max()", "# ok: CG302"),
    ],
)
def test_builtin_max_compares_what_it_is_given(value: str, mark: str) -> None:
    check_marks(
        f"""{ENGINE}
    def update(self):
        loss = self.net(self.x).sum()
        loss.backward()
        return {value}  {mark}

    def capture(self):
        self.update()
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.largest = self.update()
"""
    )
