"""Host state that captured code changes for a while and puts back is left as it was: no side effect."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import contextlib
import torch

_active = None

def active():
    return _active

@contextlib.contextmanager
def activated(thing):
    global _active
    before = _active
    _active = thing  # {mark}: CG403
    try:
        yield
    finally:
        {leave}

class Engine:
    def __init__(self, net, level: int):
        self.net = net
        self.level = level
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            with activated(7):
                self.y = self.net(self.x)

    def __call__(self, x):
        global _active
        _active = 3
        self.x.copy_(x)
        self.graph.replay()
        if active() == 7:
            print("seven")
        return self.y.clone()
"""


@pytest.mark.parametrize(("leave", "mark"), [("_active = before", "ok"), ("pass", "expect")])
def test_a_context_manager_around_captured_work(leave: str, mark: str) -> None:
    check_marks(PROGRAM.format(leave=leave, mark=mark))


COUNTED = """
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
        before = self.count
        self.count = before + 1
        y = self.net(self.x)
        self.count = {after}  # {mark}: CG403
        return y

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        if self.count > 3:
            print("three")
        return self.y.clone()
"""


@pytest.mark.parametrize(("after", "mark"), [("before", "ok"), ("before + 2", "expect")])
def test_a_counter_that_is_set_back(after: str, mark: str) -> None:
    check_marks(COUNTED.format(after=after, mark=mark))


def test_what_the_function_that_begins_a_capture_notes_about_it_is_no_side_effect() -> None:
    check_marks(
        """
import torch

class Segments:
    def __init__(self):
        self.capturing = False
        self.graph = None
        self.runs = []

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, *args):
        self.end()

    def begin(self):
        assert not self.capturing
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        self.graph = graph
        self.capturing = True  # ok: CG403

    def end(self):
        if not self.capturing:
            return
        self.graph.capture_end()
        self.runs.append(self.graph.replay)
        self.capturing = False

    def replay(self):
        for run in self.runs:
            run()
""",
        select=("CG403",),
    )
