"""CG508, CG509 and CG510: how a capture is begun and what happens when it fails."""

from __future__ import annotations

import pytest

from graphlint.finding import Level
from tests.programs import check_marks, findings

GUARDED = """
import torch


def build(net, log):
    x = torch.zeros(4, 4, device="cuda")
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = {body}
    except {kind}:  # {mark}: CG508
        {handler}
    return graph, x, y
"""


@pytest.mark.parametrize(
    ("body", "kind", "handler", "mark"),
    [
        ("torch.dropout(net(x), 0.1, True)", "RuntimeError", "y = net(x)", "expect"),
        ("net(x + torch.randn_like(x))", "Exception", "log('eager'); return None", "expect"),
        ("net(x)", "RuntimeError", "y = net(x)", "ok"),
        ("torch.dropout(net(x), 0.1, True)", "RuntimeError", "raise", "ok"),
        ("torch.dropout(net(x), 0.1, True)", "RuntimeError as e", "raise ValueError('no') from e", "ok"),
    ],
)
def test_a_capture_that_may_fail(body: str, kind: str, handler: str, mark: str) -> None:
    check_marks(GUARDED.format(body=body, kind=kind, handler=handler, mark=mark))


RAW = """
import torch

net = torch.nn.Linear(4, 4).cuda()
x = torch.zeros(4, 4, device="cuda")
net(x)
graph = torch.cuda.CUDAGraph()
{before}
    graph.capture_begin()  # {mark}: CG509
    y = net(x)
    graph.capture_end()
graph.replay()
"""


@pytest.mark.parametrize(
    ("before", "mark"), [("if True:", "expect"), ("with torch.cuda.stream(torch.cuda.Stream()):", "ok")]
)
def test_a_raw_capture_of_a_script(before: str, mark: str) -> None:
    check_marks(RAW.format(before=before, mark=mark))


def test_a_raw_capture_in_a_function_that_any_caller_may_have_put_on_a_stream() -> None:
    check_marks(
        """
import torch


def build(net):
    x = torch.zeros(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()  # ok: CG509
    y = net(x)
    graph.capture_end()
    graph.replay()
    return y.clone()
"""
    )


def test_the_relaxed_mode_is_a_note() -> None:
    program = """
import torch


def build(net, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="{mode}"):
        y = net(x)
    graph.replay()
"""
    shown = [f for f in findings(program.format(mode="relaxed")) if f.code == "CG510"]
    assert [(f.span.line, f.level) for f in shown] == [(7, Level.NOTE)]
    assert not [f for f in findings(program.format(mode="thread_local")) if f.code == "CG510"]


UNKNOWN_MODE = """
    import torch

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.dropout = torch.nn.Dropout(0.1)

        def forward(self, x):
            return self.dropout(x)

    class Engine:
        def __init__(self, net: Block):
            self.net = net

        {decorator}
        def build(self, x):
            own = x.clone()
            graph = torch.cuda.CUDAGraph()
            try:
                with torch.cuda.graph(graph):
                    out = self.net(own)
            except RuntimeError:  # {mark}: CG508
                return self.net(x)
            graph.replay()
            return out.clone()
    """


@pytest.mark.parametrize(("decorator", "mark"), [("@torch.inference_mode()", "ok"), ("", "expect")])
def test_a_dropout_that_is_used_for_inference_draws_nothing(decorator: str, mark: str) -> None:
    check_marks(UNKNOWN_MODE.format(decorator=decorator, mark=mark), select=("CG508",))
