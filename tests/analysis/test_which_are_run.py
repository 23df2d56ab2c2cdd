"""Which definitions are run as roots: those that capture, and their users; of declared ones only who calls them."""

from __future__ import annotations

from pathlib import Path

from graphlint.analysis import declarations, roots
from graphlint.config import Config
from graphlint.facts.project import Project

DECLARED = """
class Layer:
    # graphlint: captured
    def forward(self, x):
        return x + 1

class Wider(Layer):
    pass

class Chooser:
    def kind(self):
        return Layer

    def is_one(self, made):
        return isinstance(made, Layer)

def build(x):
    return Layer().forward(x)

def use(x):
    return build(x)
"""
CAPTURING = """
import torch

class Runner:
    def capture(self):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            pass

class Chooser:
    def kind(self):
        return Runner

class Other:
    pass
"""


def _roots(folder: Path, text: str) -> list[str]:
    path = folder / "program.py"
    path.write_text(text, encoding="utf-8")
    project = Project([path])
    declarations.take(project, Config(root=folder))
    module = project.file(path)
    assert module is not None
    return [root.qualname for root in roots.roots_of(module)]


def test_who_merely_names_what_is_declared_to_be_captured_is_not_run(tmp_path: Path) -> None:
    assert _roots(tmp_path, DECLARED) == ["Layer", "Wider", "build", "use"]


def test_who_names_what_captures_is_run(tmp_path: Path) -> None:
    assert _roots(tmp_path, CAPTURING) == ["Runner", "Chooser"]


OTHER_GRAPHS = """
import cudnn
import torch

def traced(module):
    return torch.fx.symbolic_trace(module).graph

def jitted(tracing):
    return tracing.graph()

def nodes(module):
    return getattr(module, "graph", None)

def built(handle):
    with cudnn.graph(handle) as (graph, _):
        return graph

def forward(call, replay):
    if replay:
        call.again()

def step(graph):
    graph.replay()

def capture(graph, body):
    with torch.get_device_module().graph(graph):
        body()

def capture_if_there(graph, body):
    context = getattr(torch.cuda, "graph", None)
    with context(graph):
        body()
"""


def test_other_graphs_and_names_of_parameters_capture_nothing(tmp_path: Path) -> None:
    assert _roots(tmp_path, OTHER_GRAPHS) == ["step", "capture", "capture_if_there"]
