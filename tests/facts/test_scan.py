"""The byte scan misses no mark, name or written field, and takes time in proportion to the file."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphlint.facts.scan import scan


def marks(text: str) -> frozenset[str]:
    return scan(text.encode()).marks


MARKED = [
    ("graph", "with torch.cuda.graph(g): pass"),
    ("graph", "import torch\nwith device_module.graph(g, stream=s): pass"),
    ("graph", "ctx = partial(torch.cuda.graph, pool=pool)"),
    ("graph", "ctx = torch.get_device_module().graph\n"),
    ("graph", "context = getattr(torch.cuda, 'graph')"),
    ("graph", "from torch.cuda import graph as record"),
    ("graph", "from torch.cuda import (\n    Stream,\n    graph,\n)"),
    ("graph", "from torch.cuda import *\nwith graph(g): pass"),
    ("graph", "from torch.cuda.graphs import graph"),
    ("graph", "from torch.cuda import graphs"),
    ("graph", "g = torch.cuda.CUDAGraph()"),
    ("graph", "g.capture_begin(pool=pool)"),
    ("graph", "getattr(g, 'capture_end')()"),
    ("graph", "f = torch.cuda.make_graphed_callables(f, (x,))"),
    ("graph", "pool = torch.cuda.graph_pool_handle()"),
    ("replay", "g.replay()"),
    ("replay", "self.run = g.replay"),
    ("compile", "f = torch.compile(f, mode='reduce-overhead')"),
    ("compile", '@torch.compile(mode="max-autotune")\ndef f(): pass'),
    ("compile", "torch.compile(f, backend='cudagraphs')"),
    ("compile", "torch.compile(f, options={'triton.cudagraphs': True})"),
    ("compile", "torch._inductor.config.triton.cudagraphs = True"),
    ("compile", "model.compile(mode='reduce-overhead')"),
    ("mark_step", "torch.compiler.cudagraph_mark_step_begin()"),
    ("warp", "with wp.ScopedCapture() as capture: pass"),
    ("warp", "wp.capture_begin()"),
    ("warp", "wp.capture_launch(graph)"),
    ("cupy", "stream.begin_capture()"),
    ("driver", "cudart.cudaStreamBeginCapture(stream, mode)"),
    ("driver", "cuda.cuStreamBeginCapture(stream, mode)"),
    ("declared", "def f():  # graphlint: captured\n    pass"),
    ("declared", "#graphlint:captured"),
]


@pytest.mark.parametrize(("family", "text"), MARKED)
def test_a_mark_is_found(family: str, text: str) -> None:
    assert family in marks(text)


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nprint(module.graph.nodes)",
        "import torch\nmode = CUDAGraphMode.FULL",
        "import torch\nclass NoCUDAGraph: pass",
        "import networkx\nnetworkx.graph(1)",
        "import torch\nmy_capture_begin()",
        "pattern = re.compile('reduce')",
        "torch.compile(f)",
        "torch.compile(f, mode='max-autotune-no-cudagraphs')",
        "memory.replay_buffer()",
        "# graphlint: ignore[CG301]",
        "",
    ],
)
def test_what_only_looks_like_a_mark_is_none(text: str) -> None:
    assert marks(text) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "self.x = 1",
        "self.x: int = 1",
        "self.x: dict[str, int] = {}",
        "self.x += 1",
        "self.x //= 2",
        "self.x, y = 1, 2",
        "y, self.x = 1, 2",
        "self.x, self.y = f()",
        "(self.y, self.x) = f()",
        "[self.y, self.x] = f()",
        "(\n    self.y,\n    self.x,\n) = f()",
        "(self.x,\n self.y) = f()",
        "\ta.b.x\t=\t1",
        "self.x=1",
        "self.x \\\n    = 1",
        "a[0].x = b",
        "f(a).x = b",
        "for self.x in y: pass",
        "for i, self.x in y: pass",
        "with f() as self.x: pass",
        "setattr(self, 'x', 1)",
        'object.__setattr__(self, "x", 1)',
        "setattr(\n    self, 'x', 1)",
        "a.y = self.x = 1",
    ],
)
def test_a_written_field_is_found(text: str) -> None:
    assert "x" in scan(text.encode()).writes


@pytest.mark.parametrize(
    "text",
    ["self.x == 1", "f(self.x)", "self.x()", "self.x <= 1", "self.x != 1", "y = self.x", "self.x[0] = 1"],
)
def test_a_field_only_read_is_not_written(text: str) -> None:
    assert "x" not in scan(text.encode()).writes


def test_definitions_at_any_depth_are_found() -> None:
    text = "class A:\n  async  def f(self):\n    def g(): pass\ndef \\\n  h(): pass\ndef größe(): pass"
    assert scan(text.encode()).defines == {"A", "f", "g", "h", "größe"}


def test_names_are_normalised_as_python_does() -> None:
    assert scan("def ﬁeld(): pass\nself.ﬁx = 1".encode()).defines == {"field"}
    assert scan("self.ﬁx = 1".encode()).writes == {"fix"}


def test_names_of_a_latin1_file_are_found() -> None:
    assert scan("# coding: latin-1\ndef größe(): pass".encode("latin-1")).defines == {"größe"}


@given(st.binary(max_size=300))
def test_no_bytes_make_the_scan_fail(data: bytes) -> None:
    scan(data)


NAMES = st.sampled_from(["self.alpha", "a.b.beta", "x", "y[0]", "f(z).gamma", "q.delta[1]"])


@given(st.lists(NAMES, min_size=1, max_size=4), st.sampled_from(["{}", "({})", "[{}]"]), st.booleans())
def test_every_attribute_target_of_the_tree_is_among_the_writes(
    targets: list[str], bracket: str, spread: bool
) -> None:
    joined = (",\n " if spread and bracket != "{}" else ", ").join(targets)
    text = f"if 1:\n  {bracket.format(joined)} = value\n"
    stored = {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    if not (bracket == "[{}]" and spread):  # a list of targets over several lines: nobody writes that
        assert stored <= scan(text.encode()).writes


HOSTILE = [
    "def ",
    "class\t",
    ".a ",
    ".a",
    ".a:",
    ".a,",
    ".a,(",
    ".a,()",
    ")=",
    ")=\n",
    "] =",
    "[] =",
    "[\n] =\n",
    "[",
    "(",
    "setattr(",
    "setattr( ",
    "from torch.cuda import (",
    " as a.",
    "for a.",
    "#",
    "# graphlint:",
    "getattr(a, ",
    "capture_begin",
    "\\\n",
    " ",
    "é",
    ".é =",
    "graph.graph(",
    ",",
    "=",
    "\n",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_repetition_costs_no_more_than_its_length(unit: str) -> None:
    """Four times the text costs far less than the sixteen times of a quadratic search (processor time)."""
    small, large = (min(_cost(unit, size) for _ in range(2)) for size in (50_000, 200_000))
    assert large < 10 * small + 0.2


def _cost(unit: str, size: int) -> float:
    data = b"torch graph capture compile " + unit.encode() * (size // len(unit.encode()))
    start = time.process_time()
    scan(data)
    return time.process_time() - start
