"""What stands between a root and its captures: flags that are off, devices of many kinds, names narrowed by tests."""

from __future__ import annotations

from tests.programs import captured, check_marks, findings

_DEVICES = "\n".join(
    f"""
class Device{n}(Device):
    def begin(self, graph, pool=None):
        return {call}

    def make(self):
        return {graph}

    def run(self, graph):
        {replay}
"""
    for n, (call, graph, replay) in enumerate(
        [("torch.cuda.graph(graph, pool)", "torch.cuda.CUDAGraph()", "graph.replay()")]
        + [("contextlib.nullcontext()", "None", "pass")] * 9
    )
)

_CHOICE = "\n".join(f"    elif name == 'd{n}':\n        _device = Device{n}()" for n in range(1, 10))

_MANY = {
    "devices.py": f"""
import contextlib, os
import torch

class Device:
    label: str

{_DEVICES}

_device = None

def device():
    global _device
    if _device is not None:
        return _device
    name = os.environ["KIND"]
    if name == "d0":
        _device = Device0()
{_CHOICE}
    return _device
""",
    "engine.py": """
import torch
from devices import device

class Engine:
    def __init__(self, model: torch.nn.Linear, on: bool = False):
        self.model = model
        self.on = on
        self.graph = None

    def __call__(self, x: torch.Tensor):
        if not self.on:
            return self.model(x)
        if self.graph is None:
            self.record(x)
        device().run(self.graph)
        return self.out.clone()

    def record(self, x):
        self.model(x)
        self.graph = device().make()
        with device().begin(self.graph):
            self.out = self.inner(x)

    def inner(self, x):
        y = self.model(x)
        torch.cuda.synchronize()  # expect: CG301
        return y
""",
}


def test_a_capture_context_that_one_of_many_devices_returns_captures() -> None:
    assert "Engine.inner" in captured(_MANY)
    check_marks(_MANY, select=("CG301",))


def test_a_flag_that_is_off_by_default_does_not_hide_the_capture() -> None:
    check_marks(
        """
import torch

class Step:
    def __init__(self, model: torch.nn.Linear, use_graph: bool = False, sizes=None):
        self.model = model
        self.graph = None
        self.use_graph = use_graph
        self.x = torch.zeros(4, device="cuda")

    def capture(self):
        if self.use_graph:
            self.model(self.x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x)
                torch.cuda.synchronize()  # expect: CG301
"""
    )


def test_a_flag_stays_off_where_the_capture_does_not_need_it() -> None:
    check_marks(
        """
import torch

class Step:
    def __init__(self, model: torch.nn.Linear, check: bool = False):
        self.model = model
        self.check = check
        self.x = torch.zeros(4, device="cuda")

    def capture(self):
        self.model(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)
            if self.check:
                torch.cuda.synchronize()  # ok: CG301
"""
    )


def test_keywords_that_a_step_is_called_with_are_not_known_to_be_absent() -> None:
    program = """
import torch

class Decoder:
    def __init__(self, model: torch.nn.Linear):
        self.model = model
        self.graphs = {}

    def __call__(self, **kwargs):
        tokens = kwargs.get("tokens")
        if tokens is None:
            return None
        return self.record()

    def record(self):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.inside()
        return graph

    def inside(self):
        pass
"""
    assert "Decoder.inside" in captured(program)


_NARROWED = """
import os
import torch

def kind():
    name = None
    if os.environ.get("FIRST"):
        name = "a"
    if name is None:
        if os.environ.get("SECOND"):
            name = "b"
    if name is None:
        name = "c"
    return name

def capture(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    chosen = kind()
    with torch.cuda.graph(graph):
        if chosen == "{tested}":
            torch.cuda.synchronize()
    return graph
"""


def test_an_arm_that_writes_a_narrowed_name_leaves_the_other_arm_alone() -> None:
    for tested, reported in (("a", True), ("b", True), ("c", True), ("d", False)):
        found = [each for each in findings(_NARROWED.format(tested=tested)) if each.code == "CG301"]
        assert bool(found) is reported, tested
