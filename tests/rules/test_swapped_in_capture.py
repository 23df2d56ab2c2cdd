"""CG106: buffers that captured Python exchanges."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

SOLVER = """
import torch


class Heat:
    def __init__(self, steps):
        self.old = torch.zeros(64, 64, device="cuda")
        self.new = torch.zeros(64, 64, device="cuda")
        self.spare = torch.zeros(64, 64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def sweep(self):
        self.new.copy_(self.old * 0.25)

    def record(self, steps):
        self.sweep()
        with torch.cuda.graph(self.graph):
{body}

    def run(self, source):
        for _ in range(8):
{before}
            self.graph.replay()
        return self.new.clone()


def main(source, steps):
    heat = Heat(steps)
    heat.record(steps)
    return heat.run(source)
"""


def check(body: str, before: str = "pass") -> None:
    lines = [f"            {line}" for line in body.strip("\n").splitlines()]
    check_marked_rules(SOLVER.format(body="\n".join(lines), before=f"            {before}"))


@pytest.mark.parametrize(
    "body",
    [
        "self.sweep()\nself.old, self.new = self.new, self.old  # expect: CG106",
        "for _ in range(3):\n    self.sweep()\n    self.old, self.new = self.new, self.old  # expect: CG106",
        "self.sweep()\nkept = self.old\nself.old = self.new  # expect: CG106\nself.new = kept",
        "for _ in range(3):\n  for _ in range(5):\n    self.sweep()\n    self.new, self.old = self.old, self.new  # expect: CG106",
        "steps = 7\nfor _ in range(steps):\n    self.sweep()\n    (self.old, self.new) = (self.new, self.old)  # expect: CG106",
        "self.sweep()\nspare = (self.new, self.old)\nself.old, self.new = spare  # expect: CG106",
    ],
)
def test_reported(body: str) -> None:
    check(body)


@pytest.mark.parametrize(
    ("body", "before"),
    [
        (
            "for _ in range(2):\n    self.sweep()\n    self.old, self.new = self.new, self.old  # ok: CG106",
            "pass",
        ),
        (
            "for _ in range(steps):\n    self.sweep()\n    self.old, self.new = self.new, self.old  # ok: CG106",
            "pass",
        ),
        ("self.sweep()\nself.old.copy_(self.new)  # ok: CG106", "pass"),
        ("self.sweep()\nself.old, self.new = self.new, self.old  # ok: CG106", "self.new.copy_(source)"),
        (
            "kept = self.spare\nself.sweep()\nself.old, self.new = self.new, self.old  # ok: CG106\n"
            "kept.copy_(self.old)",
            "pass",
        ),
        ("a, b = self.old, self.new\na, b = b, a  # ok: CG106\na.copy_(b * 2)", "pass"),
        (
            "self.sweep()\nself.old, self.new = self.new, self.old  # ok: CG106\n"
            "self.sweep()\nself.old, self.new = self.new, self.old  # ok: CG106",
            "pass",
        ),
    ],
)
def test_not_reported(body: str, before: str) -> None:
    check(body, before)


def test_graphs_that_take_turns() -> None:
    check_marked_rules("""
import torch


class PingPong:
    def __init__(self):
        self.a = torch.zeros(8, device="cuda")
        self.b = torch.zeros(8, device="cuda")
        self.there, self.back = self.record(), self.record()

    def record(self):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.b.copy_(self.a * 2)
            self.a, self.b = self.b, self.a  # ok: CG106
        return graph

    def run(self, n):
        for _ in range(n):
            self.there.replay()
            self.back.replay()
        return self.a.clone()
""")


def test_an_exchange_by_a_helper_of_another_file() -> None:
    check_marked_rules(
        {
            "state.py": """
            class Pair:
                def __init__(self, model):
                    self.front = model.state()
                    self.rear = model.state()

                def flip(self):
                    self.front, self.rear = self.rear, self.front  # expect: CG106
            """,
            "simulate.py": """
            import warp as wp

            from state import Pair


            def run(model, solver, frames):
                pair = Pair(model)
                with wp.ScopedCapture() as capture:
                    for _ in range(3):
                        solver.step(pair.front, pair.rear)
                        pair.flip()
                for _ in range(frames):
                    wp.capture_launch(capture.graph)
                return pair.front
            """,
        }
    )


def test_suppressed() -> None:
    check_marked_rules("""
import torch

a, b = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    b.copy_(a + 1)
    a, b = b, a  # graphlint: ignore[CG106] -- the benchmark repeats one step
for _ in range(10):
    graph.replay()
""")


def test_the_text(shows: Shows) -> None:
    shows(
        "CG106-simulation",
        {
            "simulate.py": """
            import warp as wp


            class Sim:
                def __init__(self, model):
                    self.model = model
                    self.state_0 = model.state()
                    self.state_1 = model.state()
                    with wp.ScopedCapture() as capture:
                        self.step()
                    self.graph = capture.graph

                def step(self):
                    self.model.integrate(self.state_0, self.state_1)
                    self.state_0, self.state_1 = self.state_1, self.state_0

                def render(self):
                    for _ in range(60):
                        wp.capture_launch(self.graph)
            """
        },
    )
