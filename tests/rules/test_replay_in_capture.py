"""CG504: graphs that are replayed while another capture is open."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

OUTER = """\
import torch


class Graphed:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def run(self, x: torch.Tensor):
        {run}  # {mark}
        return self.y


def record(net: torch.nn.Module, x: torch.Tensor):
    inner = Graphed(net)
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    {before}
    with torch.cuda.graph(graph):
        y = {body}
    return graph, y
"""


@pytest.mark.parametrize(
    ("run", "body"),
    [
        ("self.graph.replay()", "inner.run(x)"),
        ("self.graph.replay()", "inner.run(x) * 2"),
        (
            "if not torch.cuda.is_current_stream_capturing(): return x\n        self.graph.replay()",
            "inner.run(x)",
        ),
        ("replay = self.graph.replay; replay()", "inner.run(x)"),
        ("(lambda graph: graph.replay())(self.graph)", "inner.run(x)"),
        ("torch.cuda.CUDAGraph.replay(self.graph)", "inner.run(x)"),
    ],
)
def test_reported(run: str, body: str) -> None:
    check_marked_rules(OUTER.format(run=run, body=body, before="pass", mark="expect: CG504"))


@pytest.mark.parametrize(
    ("run", "before", "body"),
    [
        ("self.graph.replay()", "first = inner.run(x)", "torch.relu(x)"),
        ("self.graph.replay()", "pass", "inner.net(x)"),
        (
            "if torch.cuda.is_current_stream_capturing(): return x\n        self.graph.replay()",
            "pass",
            "inner.run(x)",
        ),
        (
            "self.graph.replay() if not torch.cuda.is_current_stream_capturing() else None",
            "pass",
            "inner.run(x)",
        ),
        ("assert not torch.cuda.is_current_stream_capturing()\n        self.graph.replay()", "pass", "x + 1"),
        ("self.graph.reset()", "pass", "inner.run(x)"),
        ("self.graph.pool()", "pass", "inner.run(x)"),
    ],
)
def test_fine(run: str, before: str, body: str) -> None:
    check_marked_rules(OUTER.format(run=run, body=body, before=before, mark="ok: CG504"))


ACROSS_FILES = {
    "encoder.py": """\
        import torch


        class Encoder:
            def __init__(self):
                self.image = torch.zeros(1, 3, 32, 32, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.features = self.image.mean(dim=1)

            def __call__(self, image: torch.Tensor) -> torch.Tensor:
                self.image.copy_(image)
                self.graph.replay()  # expect: CG504
                return self.features
        """,
    "pipeline.py": """\
        import torch

        from encoder import Encoder


        def record(image: torch.Tensor):
            encoder = Encoder()
            image = image.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                scores = encoder(image).softmax(dim=-1)
            return graph, scores
        """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG504-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    run = "self.graph.replay()  # graphlint: ignore[CG504] -- never reached while capturing"
    check_marked_rules(OUTER.format(run=run, body="inner.run(x)", before="pass", mark="ok: CG504"))
