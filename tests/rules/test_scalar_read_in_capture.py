"""CG302: device values read as Python numbers in captured code."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows
from tests.rules.statements import fires, is_silent

REPORTED = [
    "longest = lengths.max().item()",
    "scale = float(loss)",
    "size = int(count) + 1",
    "flag = bool(mask.any())",
    "root = math.sqrt(count)",
    "part = hidden[:count]",
    "row = hidden[count]",
    "order = sorted([loss, loss + 1])",
    "rows = [i for i in range(count)]",
    "blank = torch.zeros(count, 4, device='cuda')",
    "best = hidden.topk(count)",
    "lengths[count] = 0",
    "weights = hidden.masked_fill(mask.unsqueeze(-1), loss)",
    "parts = [t.item() for t in lengths]",
]
FINE = [
    "size = hidden.shape[0]",
    "largest = lengths.max()",
    "first = rows[0].item()",
    "number = hidden.numel() // 2",
    "width = len(hidden)",
    "pair = hidden.max(dim=0)",
    "scaled = hidden * loss",
    "clipped = hidden.clamp(max=loss)",
    "lengths[lengths] = count",
    "half = hidden[: hidden.shape[0] // 2]",
    "heads = torch.zeros(self.heads, device='cuda')",
    "text = math.sqrt(self.heads)",
]


@pytest.mark.parametrize("statement", REPORTED)
def test_reported(statement: str) -> None:
    fires("CG302", statement)


@pytest.mark.parametrize("statement", FINE)
def test_fine(statement: str) -> None:
    is_silent("CG302", statement)


ACROSS_FILES = {
    "lengths.py": """
        import torch


        def longest(lengths: torch.Tensor) -> int:
            return int(lengths.max())  # expect: CG302


        def padded(x: torch.Tensor) -> torch.Tensor:
            return x[:, : longest(x.argmax(dim=-1))]
    """,
    "runner.py": """
        import torch

        from lengths import padded


        def record(x: torch.Tensor):
            x = x.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = padded(x)
            return graph, y
    """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG302-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    fires_not = "longest = lengths.max().item()  # graphlint: ignore[CG302] -- read in warm-up only"
    is_silent("CG302", fires_not)
