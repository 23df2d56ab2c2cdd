"""Functions that contain a region: what is handed to them is captured, wherever the call stands."""

from __future__ import annotations

from tests.programs import captured, check_marked_rules

CAPTURE = """
import torch


def capture(fn, *args, **kwargs):
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        out = fn(*args, **kwargs)
    return g, out


def measure(fn, *args):
    return fn(*args)
"""


def test_an_argument_is_captured() -> None:
    check_marked_rules(
        f"""{CAPTURE}

def step(x):
    return x.sum().item()  # expect: CG302


def eager(x):
    return x.sum().item()  # ok: CG302


def main():
    x = torch.zeros(4, device="cuda")
    measure(eager, x)
    return capture(step, x)
"""
    )


def test_arguments_from_another_file() -> None:
    check_marked_rules(
        {
            "capture.py": CAPTURE,
            "model.py": """
import torch

from capture import capture as record, measure


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.scale.sum().item()  # expect: CG302

    def describe(self, x):
        return x * self.scale.sum().item()  # ok: CG302


def build():
    model = Model().cuda()
    x = torch.zeros(4, device="cuda")
    measure(model.describe, x)
    return record(model, x)
""",
        }
    )


def test_arguments_through_a_package_and_a_second_caller() -> None:
    check_marked_rules(
        {
            "engine/__init__.py": "from engine.capture import capture\n",
            "engine/capture.py": CAPTURE,
            "engine/runner.py": """
from engine import capture


def run_model(model, x):
    return capture(model, x)
""",
            "main.py": """
import torch

from engine.runner import run_model


def net(x):
    return x.sum().item()  # expect: CG302


if __name__ == "__main__":
    run_model(net, torch.zeros(4, device="cuda"))
""",
        }
    )


def test_the_module_is_imported_as_a_whole() -> None:
    check_marked_rules(
        {
            "capture.py": CAPTURE,
            "main.py": """
import torch

import capture as recording


def main():
    x = torch.zeros(4, device="cuda")
    recording.capture(lambda t: t.sum().item(), x)  # expect: CG302
    recording.measure(lambda t: t.sum().item(), x)  # ok: CG302
""",
        }
    )


def test_a_name_that_only_looks_the_same() -> None:
    assert "step" not in captured(
        {
            "capture.py": CAPTURE,
            "film.py": """
from camera import capture


def step(x):
    return x


def main(x):
    return capture(step, x)
""",
        }
    )


def test_a_constructor_takes_the_function() -> None:
    check_marked_rules(
        {
            "runner.py": """
import torch


class GraphRunner:
    def __init__(self, fn, example):
        self.fn = fn
        self.example = example
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.fn(self.example)

    def __call__(self, x):
        self.example.copy_(x)
        self.graph.replay()
        return self.out.clone()
""",
            "main.py": """
import torch

from runner import GraphRunner


def step(x):
    return x.nonzero()  # expect: CG305


def other(x):
    return x.nonzero()  # ok: CG305


def main():
    x = torch.zeros(4, device="cuda")
    other(x)
    return GraphRunner(step, x)
""",
        }
    )


def test_a_decorator_captures_what_it_wraps() -> None:
    check_marked_rules(
        {
            "graphed.py": """
import functools

import torch


def graphed(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        if wrapper.graph is None:
            wrapper.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(wrapper.graph):
                wrapper.out = fn(*args)
        wrapper.graph.replay()
        return wrapper.out.clone()

    wrapper.graph = None
    return wrapper
""",
            "model.py": """
import torch

from graphed import graphed


@graphed
def step(x: torch.Tensor):
    return x.sum().item()  # expect: CG302


def plain(x: torch.Tensor):
    return x.sum().item()  # ok: CG302


def main():
    x = torch.zeros(4, device="cuda")
    plain(x)
    return step(x)
""",
        }
    )


def test_a_project_context_used_in_another_file() -> None:
    check_marked_rules(
        {
            "contexts.py": """
from contextlib import contextmanager

import torch


@contextmanager
def recording(pool=None):
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g, pool=pool):
        yield g


@contextmanager
def quiet():
    with torch.no_grad():
        yield
""",
            "main.py": """
import torch

from contexts import quiet, recording


def run():
    x = torch.zeros(4, device="cuda")
    with quiet():
        x.sum().item()  # ok: CG302
    with recording() as g:
        x.sum().item()  # expect: CG302
    return g
""",
        }
    )
