"""CG305: results whose size depends on device data."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows
from tests.rules.statements import fires, is_silent

REPORTED = [
    "where = mask.nonzero()",
    "chosen = hidden[mask]",
    "first = torch.where(mask)[0]",
    "some = torch.masked_select(lengths, mask)",
    "kinds = torch.unique(lengths)",
    "counts = torch.bincount(lengths, minlength=8)",
    "flags = F.one_hot(lengths)",
    "flags = F.one_hot(lengths, -1)",
    "many = hidden.repeat_interleave(lengths, dim=0)",
    "hidden[mask] = hidden[mask.nonzero_static(size=4)[:, 0]]",
    "chosen = hidden[lengths > 2]",
    "chosen = hidden[mask.to(torch.uint8)]",
]
FINE = [
    "hidden[mask] = 0.0",
    "kept = torch.where(mask.unsqueeze(-1), hidden, 0.0)",
    "flags = F.one_hot(lengths, num_classes=8)",
    "many = hidden.repeat_interleave(2, dim=0)",
    "many = hidden.repeat_interleave(lengths, dim=0, output_size=28)",
    "picked = hidden[lengths]",
    "where = torch.nonzero_static(mask, size=8)",
    "zero = hidden.masked_fill(mask.unsqueeze(-1), 0.0)",
    "found = rows.nonzero()",
    "flags = F.one_hot(lengths, 8)",
]


@pytest.mark.parametrize("statement", REPORTED)
def test_reported(statement: str) -> None:
    fires("CG305", statement)


@pytest.mark.parametrize("statement", FINE)
def test_fine(statement: str) -> None:
    is_silent("CG305", statement)


ACROSS_FILES = {
    "routing.py": """
        import torch


        class Dispatch:
            def __init__(self, capacity: int):
                self.capacity = capacity

            def __call__(self, scores: torch.Tensor) -> torch.Tensor:
                chosen = scores > 0.5
                return self.pick(scores, chosen)

            def pick(self, scores: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
                return scores[chosen]  # expect: CG305


        def route(x: torch.Tensor) -> torch.Tensor:
            return Dispatch(4)(x)
    """,
    "runner.py": """
        import torch

        from routing import route


        def record(x: torch.Tensor):
            x = x.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = route(x)
            return graph, y
    """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG305-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    fires_not = "where = mask.nonzero()  # graphlint: ignore[CG305] -- read in warm-up only"
    is_silent("CG305", fires_not)
