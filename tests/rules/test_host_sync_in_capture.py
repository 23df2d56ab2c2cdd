"""CG301: explicit waits in captured code."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows
from tests.rules.statements import fires, is_silent

REPORTED = [
    "torch.cuda.synchronize()",
    "torch.cuda.current_stream().synchronize()",
    "torch.cuda.default_stream().query()",
    "event = torch.cuda.Event(); event.record(); event.synchronize()",
    "done = torch.cuda.Event().query()",
    "staged.cuda()",
    "torch.zeros(8, device='cuda').copy_(staged)",
]
FINE = [
    "torch.cuda.Event().record()",
    "torch.cuda.current_stream()",
    "staged.cuda(non_blocking=True)",
    "torch.cuda.synchronize() if not torch.cuda.is_current_stream_capturing() else None",
    "torch.cuda.memory_allocated()",
    "torch.cuda.nvtx.range_push('layer')",
    "torch.zeros(8, device='cuda').copy_(staged, non_blocking=True)",
]


@pytest.mark.parametrize("statement", REPORTED)
def test_reported(statement: str) -> None:
    fires("CG301", statement)


@pytest.mark.parametrize("statement", FINE)
def test_fine(statement: str) -> None:
    is_silent("CG301", statement)


ACROSS_FILES = {
    "profiling.py": """
        import torch


        class Timer:
            def __enter__(self):
                self.start = torch.cuda.Event(enable_timing=True)
                self.start.record()
                return self

            def __exit__(self, *error):
                end = torch.cuda.Event(enable_timing=True)
                end.record()
                end.synchronize()  # expect: CG301
                self.milliseconds = self.start.elapsed_time(end)  # expect: CG301


        def timed(x: torch.Tensor) -> torch.Tensor:
            with Timer():
                return torch.relu(x)
    """,
    "runner.py": """
        import torch

        from profiling import timed


        def record(x: torch.Tensor):
            x = x.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = timed(x)
            return graph, y
    """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG301-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    fires_not = "torch.cuda.synchronize()  # graphlint: ignore[CG301] -- read in warm-up only"
    is_silent("CG301", fires_not)


@pytest.mark.parametrize(
    ("mode", "mark"), [("global", "expect"), ("thread_local", "expect"), ("relaxed", "ok")]
)
@pytest.mark.parametrize("asked", ["done.query()", "done.synchronize()"])
def test_an_event_from_before_a_relaxed_capture_may_be_asked(mode: str, mark: str, asked: str) -> None:
    check_marked_rules(
        f"""
        import torch


        def record(x: torch.Tensor):
            done = torch.cuda.Event()
            done.record()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="{mode}"):
                {asked}  # {mark}: CG301
                y = x * 2
            return graph, x, y
        """
    )


def test_an_event_of_the_capture_and_a_stream_may_not() -> None:
    check_marked_rules(
        """
        import torch


        def record(x: torch.Tensor):
            done = torch.cuda.Event()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="relaxed"):
                y = x * 2
                done.record()
                done.synchronize()  # expect: CG301
                torch.cuda.current_stream().query()  # expect: CG301
            return graph, x, y
        """
    )
