"""Numbers of a call that replays: those of the call that captured are in the graph."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

WRAPPER = """
    import torch

    class Wrapper:
        def __init__(self, fn):
            self.fn, self.graphs = fn, {{}}

        def record(self, *args, **options):
            self.args = args
            self.fn(*args, **options)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.out = self.fn(*args, **options)
            return graph

        def __call__(self, *args, **options):
            key = {key}
            if key not in self.graphs:
                self.graphs[key] = self.record(*args, **options)
            for own, given in zip(self.args, args):
                if torch.is_tensor(given):
                    own.copy_(given)
            self.graphs[key].replay()
            return self.out.clone()

    def blend(x, scale=1.0, square=False):
        y = x.square() if square else x  # {flag}: CG402
        return torch.sin(y) * scale  # {number}: CG402

    def train(batches):
        step = Wrapper(blend)
        x = torch.zeros(8, device="cuda")
        {calls}
"""


def check(calls: str, key: str = "'only'", number: str = "ok", flag: str = "ok") -> None:
    text = "\n        ".join(calls.splitlines())
    check_marked_rules(WRAPPER.format(calls=text, key=key, number=number, flag=flag))


@pytest.mark.parametrize(
    "calls",
    [
        "step(x, scale=0.5)\nstep(x, scale=0.25)",
        "for i, each in enumerate(batches):\n    step(x, scale=i * 0.1)",
    ],
)
def test_a_number_that_is_not_that_of_the_capture(calls: str) -> None:
    check(calls, number="expect")


def test_a_number_without_a_name() -> None:
    check("step(x, 0.5)\nstep(x, 0.25)", number="expect")


def test_a_flag_that_is_not_that_of_the_capture() -> None:
    check("step(x, square=True)\nstep(x, square=False)", flag="expect")


@pytest.mark.parametrize(
    ("calls", "key"),
    [
        ("step(x, 0.5)\nstep(x, 0.5)", "'only'"),
        ("step(x, scale=0.5)\nstep(x, scale=0.5)", "'only'"),
        ("step(x, scale=0.5)\nstep(x, scale=0.25)", "options['scale']"),
        ("step(x, scale=0.5)\nstep(x, scale=0.25)", "tuple(options.items())"),
        ("step(x, square=True)\nstep(x, square=False)", "options['square']"),
    ],
)
def test_the_same_number_or_a_graph_of_its_own(calls: str, key: str) -> None:
    check(calls, key)
