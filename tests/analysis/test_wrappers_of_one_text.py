"""Closures that share their text are told apart by what they close over, however often they are made."""

from __future__ import annotations

from tests.programs import check_marks

_METHODS = "\n".join(
    f"""
    @counted
    @locked
    def method{n}(self, function):
        return function()
"""
    for n in range(9)
)

_CALLS = "\n".join(f"        self.method{n}(function)" for n in range(9))


def test_a_method_under_shared_decorators_is_not_taken_for_another() -> None:
    check_marks(
        f"""
import functools
import torch

def counted(function):
    @functools.wraps(function)
    def wrapper(self, *args):
        return function(self, *args)
    return wrapper

def locked(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

class Bench:
{_METHODS}

    @counted
    @locked
    def record(self, function):
        function()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            function()  # ok: CG504
{_CALLS}
        self.method8(graph.replay)
        self.method7(graph.replay)
""",
        select=("CG504",),
    )


def test_a_replay_that_is_recorded_is_still_told() -> None:
    check_marks(
        """
import torch

def counted(function):
    def wrapper(*args):
        return function(*args)
    return wrapper

@counted
def record(function):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()  # expect: CG504
    return graph

def both(x: torch.Tensor):
    first = torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        y = x + 1
    record(first.replay)
    return first, y
""",
        select=("CG504",),
    )
