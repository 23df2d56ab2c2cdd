"""CG603: lazy caches that are first filled inside a capture."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

LAYER = """
import functools

import torch

STORE = {{}}
TABLE = None

class Layer:
    bias = None

    def __init__(self):
        self.table = None
        self.ready = False
        self.by_size = {{}}

    def look_up(self, x):
{body}

    def __call__(self, x):
        return x + self.look_up(x)

def record(layer: Layer, x: torch.Tensor):
    {warm}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = layer(x)
    return graph, x, y
"""
MAKE = 'torch.zeros(16, device="cuda")'
CACHES = {
    "is None": f"if self.table is None:\n    self.table = {MAKE}  # MARK\nreturn self.table",
    "not": f"if not self.ready:\n    self.table = {MAKE}  # MARK\n    self.ready = True\nreturn self.table",
    "early return": f"if self.table is not None:\n    return self.table\nself.table = {MAKE}  # MARK\nreturn self.table",
    "or": f"self.table = self.table or {MAKE}  # MARK\nreturn self.table",
    "class attribute": f"if self.bias is None:\n    self.bias = {MAKE}  # MARK\nreturn self.bias",
    "hasattr": f'if not hasattr(self, "mask"):\n    self.mask = {MAKE}  # MARK\nreturn self.mask',
    "getattr": f'if getattr(self, "mask", None) is None:\n    self.mask = {MAKE}  # MARK\nreturn self.mask',
    "not in": f'if "t" not in self.by_size:\n    self.by_size["t"] = {MAKE}  # MARK\nreturn self.by_size["t"]',
    "get": f'found = STORE.get("t")\nif found is None:\n    found = STORE["t"] = {MAKE}  # MARK\nreturn found',
    "setdefault": f'return STORE.setdefault("t", {MAKE})  # MARK',
    "KeyError": f'try:\n    return STORE["t"]\nexcept KeyError:\n    STORE["t"] = {MAKE}  # MARK\nreturn STORE["t"]',
    "global": f"global TABLE\nif TABLE is None:\n    TABLE = {MAKE}  # MARK\nreturn TABLE",
}


def layer(body: str, mark: str, warm: str) -> str:
    lines = body.replace("# MARK", f"# {mark}: CG603").splitlines()
    return LAYER.format(body="\n".join("        " + line for line in lines), warm=warm)


@pytest.mark.parametrize("kind", CACHES)
def test_filled_in_a_capture(kind: str) -> None:
    check_marks(layer(CACHES[kind], "expect", "pass"))


@pytest.mark.parametrize("kind", sorted(CACHES.keys() - {"or"}))
def test_filled_by_the_warmup(kind: str) -> None:
    check_marks(layer(CACHES[kind], "ok", "layer(x)"))


def test_a_key_that_holds_the_stream_misses_in_every_capture() -> None:
    body = f"key = torch.cuda.current_stream().cuda_stream\nif key not in STORE:\n    STORE[key] = {MAKE}  # MARK\nreturn STORE[key]"
    check_marks(layer(body, "expect", "layer(x)"))


@pytest.mark.parametrize(
    "body",
    [
        f"self.table = {MAKE}  # MARK\nreturn self.table",
        "self.table = x * 2  # MARK\nreturn self.table",
        f'self.by_size["t"] = {MAKE}  # MARK\nreturn self.by_size["t"]',
        "if x.shape[0] > 4:\n    self.table = x * 2  # MARK\nreturn x",
        f"made = None\nif made is None:\n    made = {MAKE}  # MARK\nreturn made",
    ],
)
def test_plain_stores_are_outputs(body: str) -> None:
    check_marks(layer(body, "ok", "pass"))


def test_an_object_that_the_capture_makes_may_be_filled_lazily() -> None:
    check_marks(
        """
        import torch

        class Scratch:
            def __init__(self):
                self.sums = None

            def add(self, x):
                if self.sums is None:
                    self.sums = torch.zeros_like(x)  # ok: CG603
                self.sums += x

        def record(x: torch.Tensor):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                scratch = Scratch()
                scratch.add(x)
                y = scratch.sums * 2
            return graph, x, y
        """
    )


MEMOISED = """
import functools

import torch

class Rope:
    @functools.cached_property
    def angles(self):
        return torch.arange(16, device="cuda") * 2  # {one}

@functools.lru_cache(maxsize=None)
def mask(size: int):
    return torch.ones(size, size, device="cuda")  # {two}

def apply(rope, x):
    return x * rope.angles + mask(16)

def record(rope: Rope, x: torch.Tensor):
    {warm}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = apply(rope, x)
    return graph, x, y
"""


def test_memoised_functions_and_properties() -> None:
    check_marks(MEMOISED.format(one="expect: CG603", two="expect: CG603", warm="pass"))
    check_marks(MEMOISED.format(one="ok: CG603", two="ok: CG603", warm="apply(rope, x)"))


def test_make_graphed_callables_warms_up_itself() -> None:
    text = layer(CACHES["is None"], "ok", "pass")
    text = text[: text.index("def record")]
    check_marks(
        text + "def build(layer: Layer, x: torch.Tensor):\n"
        "    return torch.cuda.make_graphed_callables(layer, (x,))\n"
    )


def test_warp_arrays() -> None:
    text = """
    import warp as wp

    class Solver:
        def __init__(self, n):
            self.n = n
            self.work = None

        def step(self):
            if self.work is None:
                self.work = wp.zeros(self.n, dtype=float, device="cuda:0")  # {mark}: CG603
            wp.copy(self.work, self.work)

    def build(n):
        solver = Solver(n)
        {warm}
        with wp.ScopedCapture(device="cuda:0") as capture:
            solver.step()
        return solver, capture.graph
    """
    check_marks(text.format(mark="expect", warm="pass"))
    check_marks(text.format(mark="ok", warm="solver.step()"))


CLOSURE = """
    import torch


    def lazily(make):
        kept = None

        def get():
            nonlocal kept
            if kept is None:
                kept = make()  # {mark}: CG603
            return kept

        return get


    def ramp():
        return torch.arange(8, device="cuda").float()


    def main(n):
        table = lazily(ramp)
        x = torch.zeros(4, 8, device="cuda")
        {before}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x * {table}()
        for _ in range(n):
            x.normal_()
            graph.replay()
            print(y.sum(), x * table())
"""


@pytest.mark.parametrize(
    ("before", "table", "mark"),
    [("pass", "table", "expect"), ("table()", "table", "ok"), ("pass", "lazily(ramp)", "ok")],
)
def test_a_closure_that_fills_its_variable_once(before: str, table: str, mark: str) -> None:
    check_marked_rules(CLOSURE.format(before=before, table=table, mark=mark))
