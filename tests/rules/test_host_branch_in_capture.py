"""CG401: Python control flow on device values."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows
from tests.rules.statements import fires, is_silent

REPORTED = [
    "hidden = hidden * 2 if loss > 1 else hidden",
    "assert torch.isfinite(loss)",
    "done = not mask.all()",
    "stop = mask.any() or self.heads > 4",
    "found = 3 in lengths",
    "kept = [t for t in lengths if t > 2]",
    "while loss > 1: loss = loss / 2",
    "if mask[0]: hidden = hidden + 1",
    "ok = 0 < loss < 1",
]
FINE = [
    "hidden = hidden * 2 if self.heads > 1 else hidden",
    "assert hidden.shape[0] == 8",
    "if hidden.is_cuda: hidden = hidden + 1",
    "if loss is not None: hidden = hidden + loss",
    "kept = [t for t in lengths]",
    "if hidden.dim() == 2: hidden = hidden + 1",
    "both = (loss > 0) & (loss < 1)",
    "if rows[0] > 1: hidden = hidden + 1",
    "done = mask.all().logical_not()",
]


@pytest.mark.parametrize("statement", REPORTED)
def test_reported(statement: str) -> None:
    fires("CG401", statement)


@pytest.mark.parametrize("statement", FINE)
def test_fine(statement: str) -> None:
    is_silent("CG401", statement)


ACROSS_FILES = {
    "convergence.py": """
        import torch


        def converged(residual: torch.Tensor) -> torch.Tensor:
            return residual.abs().max() < 1e-6


        def iterate(x: torch.Tensor) -> torch.Tensor:
            for _ in range(8):
                x = 0.5 * (x + torch.roll(x, 1))
                if converged(x):  # expect: CG401
                    break
            return x
    """,
    "runner.py": """
        import torch

        from convergence import iterate


        def record(x: torch.Tensor):
            x = x.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = iterate(x)
            return graph, y
    """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG401-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    fires_not = "done = not mask.all()  # graphlint: ignore[CG401] -- read in warm-up only"
    is_silent("CG401", fires_not)
