"""Which code is captured: every way to write, store and enter a capture context."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

HEAD = """
import contextlib
import functools
from contextlib import ExitStack, contextmanager, nullcontext

import torch
"""

ENTERED = {
    "plain": "with torch.cuda.graph(g):",
    "as": "with torch.cuda.graph(g) as region:",
    "keyword": "with torch.cuda.graph(cuda_graph=g, stream=torch.cuda.Stream()):",
    "last of several items": "with torch.no_grad(), torch.cuda.graph(g):",
    "first of several items": "with torch.cuda.graph(g), torch.no_grad():",
    "getattr on torch": 'with getattr(torch, "cuda").graph(g):',
    "getattr of the class": 'with getattr(torch.cuda, "graph")(g):',
    "device module": 'with torch.get_device_module("cuda").graph(g):',
    "accelerator": "with torch.accelerator.graph(g):",
    "graphs module": "with torch.cuda.graphs.graph(g):",
}


@pytest.mark.parametrize("written", ENTERED.values(), ids=ENTERED)
def test_a_with_statement_captures_its_body(written: str) -> None:
    check_marked_rules(
        f"""{HEAD}
def record(g):
    x = torch.zeros(4, device="cuda")
    x.sum().item()  # ok: CG302
    {written}
        y = x * 2
        y.sum().item()  # expect: CG302
    y.sum().item()  # ok: CG302
    return y
"""
    )


IMPORTED = {
    "renamed function": ("from torch.cuda import graph as region", "region(g)"),
    "renamed module": ("import torch.cuda as tc", "tc.graph(g)"),
    "module from package": ("from torch import cuda", "cuda.graph(g)"),
    "private module": ("from torch.cuda.graphs import graph", "graph(g)"),
    "module alias": ("device_module = torch.get_device_module()", "device_module.graph(g)"),
    "conditional alias": (
        "cuda = torch.cuda if torch.cuda.is_available() else None",
        "cuda.graph(g)",
    ),
    "function alias": ("capture = torch.cuda.graph", "capture(g)"),
    "partial": ("capture = functools.partial(torch.cuda.graph, capture_error_mode='relaxed')", "capture(g)"),
    "try import": (
        "try:\n    from torch.cuda import graph\nexcept ImportError:\n    graph = None",
        "graph(g)",
    ),
}


@pytest.mark.parametrize(("imported", "context"), IMPORTED.values(), ids=IMPORTED)
def test_a_context_is_known_by_what_its_name_means(imported: str, context: str) -> None:
    check_marked_rules(
        f"""{HEAD}
{imported}


def record(g):
    x = torch.zeros(4, device="cuda")
    with {context}:
        x.sum().item()  # expect: CG302
    x.sum().item()  # ok: CG302
"""
    )


def test_another_graph_function_is_no_region() -> None:
    check_marked_rules(
        """
import torch
from plotting import graph


class Plot:
    def graph(self, x):
        return nothing()


def draw(x: torch.Tensor, plot: Plot, g):
    replayed = torch.cuda.CUDAGraph()
    with graph(x), plot.graph(x):
        x.sum().item()  # ok: CG302
"""
    )


def test_nested_with_statements() -> None:
    check_marked_rules(
        f"""{HEAD}
def record(g):
    x = torch.zeros(4, device="cuda")
    with torch.no_grad():
        with torch.cuda.stream(torch.cuda.Stream()):
            x.sum().item()  # ok: CG302
            with torch.cuda.graph(g):
                with torch.autocast("cuda", cache_enabled=False):
                    x.sum().item()  # expect: CG302
            x.sum().item()  # ok: CG302
"""
    )


HELD = {
    "variable": ("context = torch.cuda.graph(g)", "context"),
    "attribute": ("self.context = torch.cuda.graph(g)", "self.context"),
    "conditional": ("context = torch.cuda.graph(g) if self.use_graph else nullcontext()", "context"),
    "conditional in place": ("", "torch.cuda.graph(g) if self.use_graph else nullcontext()"),
    "branch": (
        "context = nullcontext()\n        if self.use_graph:\n            context = torch.cuda.graph(g)",
        "context",
    ),
    "partial": ("make = functools.partial(torch.cuda.graph, g)", "make()"),
    "lambda": ("make = lambda: torch.cuda.graph(g)", "make()"),
    "list": ("contexts = [torch.cuda.graph(g)]", "contexts[0]"),
    "dict": ("contexts = {'cuda': torch.cuda.graph(g)}", "contexts['cuda']"),
    "method": ("", "self.region(g)"),
    "keywords": ("options = {'pool': None}", "torch.cuda.graph(g, **options)"),
}


@pytest.mark.parametrize(("made", "context"), HELD.values(), ids=HELD)
def test_a_context_may_be_held_before_it_is_entered(made: str, context: str) -> None:
    check_marked_rules(
        f"""{HEAD}
class Recorder:
    def __init__(self, use_graph: bool):
        self.use_graph = use_graph

    def region(self, g):
        return torch.cuda.graph(g, stream=torch.cuda.Stream())

    def record(self):
        g = torch.cuda.CUDAGraph()
        x = torch.zeros(4, device="cuda")
        {made}
        x.sum().item()  # ok: CG302
        with {context}:
            x.sum().item()  # expect: CG302
        x.sum().item()  # ok: CG302
"""
    )


def test_a_context_that_is_never_a_capture() -> None:
    check_marked_rules(
        f"""{HEAD}
def record(g):
    x = torch.zeros(4, device="cuda")
    context = torch.cuda.graph(g) if False else nullcontext()
    with context:
        x.sum().item()  # ok: CG302
"""
    )


def test_an_exit_stack_captures_until_it_is_left() -> None:
    check_marked_rules(
        f"""{HEAD}
def record(g, quiet: bool):
    x = torch.zeros(4, device="cuda")
    with ExitStack() as stack:
        x.sum().item()  # ok: CG302
        if quiet:
            stack.enter_context(torch.no_grad())
        stack.enter_context(torch.cuda.graph(g))
        x.sum().item()  # expect: CG302
    x.sum().item()  # ok: CG302
"""
    )


def test_an_exit_stack_handed_to_a_helper() -> None:
    check_marked_rules(
        f"""{HEAD}
class Recorder:
    def _enter(self, stack, g):
        stack.enter_context(torch.inference_mode())
        stack.enter_context(torch.cuda.graph(g))

    def record(self):
        g = torch.cuda.CUDAGraph()
        x = torch.zeros(4, device="cuda")
        with contextlib.ExitStack() as stack:
            self._enter(stack, g)
            x.sum().item()  # expect: CG302
        x.sum().item()  # ok: CG302
"""
    )


def test_a_project_generator_entered_on_a_stack() -> None:
    check_marked_rules(
        f"""{HEAD}
@contextmanager
def recording(g, x):
    x.sum().item()  # ok: CG302
    with torch.cuda.graph(g):
        yield g
    x.sum().item()  # ok: CG302


def record(g):
    x = torch.zeros(4, device="cuda")
    with ExitStack() as stack:
        stack.enter_context(recording(g, x))
        x.sum().item()  # expect: CG302
    x.sum().item()  # ok: CG302
"""
    )


def test_a_stack_closed_by_hand() -> None:
    check_marked_rules(
        f"""{HEAD}
def record(g):
    x = torch.zeros(4, device="cuda")
    stack = ExitStack()
    stack.enter_context(torch.cuda.graph(g))
    x.sum().item()  # expect: CG302
    stack.close()
    x.sum().item()  # ok: CG302
"""
    )


def test_a_context_entered_by_hand() -> None:
    check_marked_rules(
        f"""{HEAD}
def record(g):
    x = torch.zeros(4, device="cuda")
    context = torch.cuda.graph(g)
    context.__enter__()
    x.sum().item()  # expect: CG302
    context.__exit__(None, None, None)
    x.sum().item()  # ok: CG302
"""
    )


def test_a_project_generator_context_captures_what_it_wraps() -> None:
    check_marked_rules(
        f"""{HEAD}
@contextmanager
def recording(g, pool=None):
    torch.cuda.synchronize()  # ok: CG301
    with torch.cuda.stream(torch.cuda.Stream()):
        g.capture_begin(pool=pool)
        try:
            yield
        finally:
            g.capture_end()
    torch.cuda.synchronize()  # ok: CG301


@contextmanager
def timing():
    torch.cuda.synchronize()  # ok: CG301
    yield
    torch.cuda.synchronize()  # ok: CG301


def record(x: torch.Tensor):
    g = torch.cuda.CUDAGraph()
    with timing():
        torch.cuda.synchronize()  # ok: CG301
    with recording(g):
        torch.cuda.synchronize()  # expect: CG301
    torch.cuda.synchronize()  # ok: CG301
"""
    )


def test_a_project_context_class_captures_what_it_wraps() -> None:
    check_marked_rules(
        f"""{HEAD}
class Recording:
    def __init__(self, g):
        self.inner = torch.cuda.graph(g)

    def __enter__(self):
        torch.cuda.synchronize()  # ok: CG301
        self.inner.__enter__()
        return self

    def __exit__(self, *error):
        self.inner.__exit__(*error)
        torch.cuda.synchronize()  # ok: CG301


class Paused:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def record(x: torch.Tensor):
    g = torch.cuda.CUDAGraph()
    with Recording(g):
        torch.cuda.synchronize()  # expect: CG301
    with Paused():
        torch.cuda.synchronize()  # ok: CG301
"""
    )


def test_a_subclass_of_the_capture_context() -> None:
    check_marked_rules(
        f"""{HEAD}
class Quiet(torch.cuda.graph):
    def __enter__(self):
        torch.cuda.synchronize()  # ok: CG301
        super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        torch.cuda.synchronize()  # ok: CG301


class Plain(torch.cuda.graph):
    def describe(self):
        return "plain"


def record(x: torch.Tensor, g):
    with Quiet(g):
        torch.cuda.synchronize()  # expect: CG301
    torch.cuda.synchronize()  # ok: CG301
    with Plain(g):
        torch.cuda.synchronize()  # expect: CG301
    torch.cuda.synchronize()  # ok: CG301
"""
    )


def test_graph_of_a_device_module_that_is_not_known_captures_into_the_graph_that_it_is_given() -> None:
    check_marks(
        """
        import torch

        class Backend:
            def __init__(self, owner):
                self._module = owner.device_module
                self.graphs = {}

            def capture(self, key, forward, stream):
                graph = torch.cuda.CUDAGraph()
                context = self._module.graph
                with context(cuda_graph=graph, stream=stream):
                    out = forward()
                    torch.cuda.synchronize()  # expect: CG301
                self.graphs[key] = graph
                return out

            def replay(self, key):
                self.graphs[key].replay()
        """
    )


def test_another_thing_called_graph_captures_nothing() -> None:
    check_marks(
        """
        import torch

        class Layout:
            def __init__(self, owner):
                self.owner = owner

            def draw(self, nodes):
                with self.owner.graph(nodes):
                    torch.cuda.synchronize()  # ok: CG301

            def replay(self, graph: torch.cuda.CUDAGraph):
                graph.replay()
        """
    )
