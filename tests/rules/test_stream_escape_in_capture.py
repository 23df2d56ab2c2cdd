"""CG501: work on streams that have not joined a capture."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

OVERLAP = """\
import torch


class Overlap(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left = torch.nn.Linear(16, 16)
        self.right = torch.nn.Linear(16, 16)
        self.side = torch.cuda.Stream()
        self.ready = torch.cuda.Event()

    def forward(self, x):
        main = torch.cuda.current_stream()
        {before}
        with torch.cuda.stream({stream}):  # {mark}
            right = self.right(x)
        left = self.left(x)
        main.wait_stream({stream})
        return left + right


def record(x: torch.Tensor):
    net = Overlap().cuda()
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    return graph, y
"""


@pytest.mark.parametrize(
    ("before", "stream"),
    [
        ("pass", "self.side"),
        ("pass", "torch.cuda.default_stream()"),
        ("other = torch.cuda.Stream(); other.wait_stream(main)", "self.side"),
        ("self.ready.record()", "self.side"),
        ("main.record_event()", "self.side"),
        ("fresh = torch.cuda.Stream()", "fresh"),
        ("main.wait_stream(self.side)", "self.side"),
    ],
)
def test_reported(before: str, stream: str) -> None:
    check_marked_rules(OVERLAP.format(before=before, stream=stream, mark="expect: CG501"))


@pytest.mark.parametrize(
    ("before", "stream"),
    [
        ("self.side.wait_stream(main)", "self.side"),
        ("self.side.wait_stream(torch.cuda.current_stream())", "self.side"),
        ("self.ready.record(); self.side.wait_event(self.ready)", "self.side"),
        ("self.ready.record(main); self.ready.wait(self.side)", "self.side"),
        ("self.side.wait_event(main.record_event())", "self.side"),
        ("fresh = torch.cuda.Stream(); fresh.wait_stream(main)", "fresh"),
        ("pass", "main"),
        ("pass", "torch.cuda.current_stream()"),
    ],
)
def test_fine(before: str, stream: str) -> None:
    check_marked_rules(OVERLAP.format(before=before, stream=stream, mark="ok: CG501"))


def test_outside_of_a_capture_streams_are_free() -> None:
    check_marked_rules(
        """
        import torch

        def warm_up_and_record(net: torch.nn.Module, x: torch.Tensor):
            x = x.cuda()
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):  # ok: CG501
                net(x)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = net(x)
            return graph, y
        """
    )


ACROSS_FILES = {
    "copies.py": """\
        import torch

        SIDE = torch.cuda.Stream()


        def stage(x: torch.Tensor) -> torch.Tensor:
            with torch.cuda.stream(SIDE):  # expect: CG501
                return x.half()
        """,
    "runner.py": """\
        import torch

        from copies import stage


        def record(x: torch.Tensor):
            x = x.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = stage(x)
            return graph, y
        """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG501-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    program = OVERLAP.format(
        before="pass", stream="self.side", mark="graphlint: ignore[CG501] -- joined inside"
    )
    check_marked_rules(program + "# ok: CG501\n")
