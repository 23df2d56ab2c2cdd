"""Counters of steps: what is done every so many steps is done some time, what is done first is done first."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch

class Engine:
    def __init__(self):
        self.scale = {start}
        self.steps = 0
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = self.x * self.scale  # {mark}: CG402

    def step(self, x):
        self.steps += 1
        if {test}:
            {measure}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("start", "test", "measure", "mark"),
    [
        ("1.0", "self.steps % 100 == 0", "self.scale = float(x.abs().max())", "expect"),
        ("1.0", "self.steps > 1000", "self.scale = self.scale * 0.5", "expect"),
        ("torch.ones((), device='cuda')", "self.steps % 100 == 0", "self.scale.copy_(x.abs().max())", "ok"),
        ("1.0", "self.steps % 100 == 0", "print(x.shape)", "ok"),
    ],
)
def test_what_is_done_now_and_then(start: str, test: str, measure: str, mark: str) -> None:
    program = PROGRAM.format(start=start, test=test, measure=measure, mark=mark)
    check_marks(program, select=("CG402",))


def test_a_comprehension_that_captures_is_a_loop() -> None:
    check_marks(
        """
        import torch

        class Table:
            def __init__(self):
                self.x = torch.zeros(64, device="cuda")
                self.pool = torch.cuda.graph_pool_handle()
                self.small = {n: self.capture(n) for n in (1, 2, 4)}  # expect: CG601
                self.large = [self.capture(n) for n in (64, 32, 16)]  # ok: CG601

            def capture(self, n):
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, pool=self.pool):
                    y = self.x[:n] * 2
                return graph, y
        """,
        select=("CG601",),
    )


def test_hooks_of_modules_that_are_not_told_apart() -> None:
    check_marks(
        """
        import torch
        import torch.nn as nn

        class Tap:
            def __init__(self, width: int, depth: int):
                self.net = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth))).cuda()
                for index in (0, 1):
                    self.net[index].register_forward_hook(self.look)
                self.x = torch.zeros(2, width, device="cuda")
                self.graph = torch.cuda.CUDAGraph()

            def look(self, module, args, output):
                print(output.sum().item())  # expect: CG302

            def capture(self):
                self.net(self.x)
                with torch.cuda.graph(self.graph):
                    self.y = self.net(self.x)
        """,
        select=("CG302",),
    )


def test_an_output_that_is_one_of_several_is_kept_like_any_other() -> None:
    check_marks(
        """
        import torch

        class Either:
            def __init__(self, wide: bool):
                self.wide = wide
                self.x = torch.zeros(4, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.found = {"y": self.x * 2 if wide else self.x.sum()}

            def __call__(self, x):
                self.x.copy_(x)
                self.graph.replay()
                return dict(self.found)

        def collect(either: Either, xs):
            kept = []
            for x in xs:
                kept.append(either(x))  # expect: CG201
            return torch.stack([found["y"] for found in kept])
        """,
        select=("CG201",),
    )


@pytest.mark.parametrize(
    ("test", "mark"),
    [
        ("(epoch + 1) % 5 == 0", "expect"),
        ("epoch > 20", "expect"),
        ("epoch < 0", "ok"),
        ("epoch == 39", "ok"),
        ("epoch + 1 == 40", "ok"),
        ("40 - 1 <= epoch", "ok"),
        ("epoch + 1 > 39", "ok"),
    ],
)
def test_rounds_between_the_first_and_the_last_of_a_long_count(test: str, mark: str) -> None:
    """What is done in the last round only comes after the last replay."""
    check_marks(
        f"""
        import torch

        class Loss:
            def __init__(self):
                self.steps = 1

        def longer(loss, epoch: int):
            if {test}:
                loss.steps += 1

        def main(batches: list):
            loss = Loss()
            x = torch.zeros(4, device="cuda")

            def body():
                y = x
                for _ in range(loss.steps):  # {mark}: CG402
                    y = y * 2
                return y

            body()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = body()
            for epoch in range(40):
                for batch in batches:
                    x.copy_(batch)
                    graph.replay()
                longer(loss, epoch)
        """,
        select=("CG402",),
    )
