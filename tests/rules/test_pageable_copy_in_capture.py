"""CG306: host data and pageable memory copied to the device."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows
from tests.rules.statements import fires, is_silent

REPORTED = [
    "scale = torch.tensor(8.0, device='cuda')",
    "table = torch.tensor([1, 2], device=hidden.device)",
    "extra = rows.cuda()",
    "extra = rows.to('cuda', non_blocking=True)",
    "lengths[0] = 1",
    "hidden[0, 1] = 1.0",
    "lengths[lengths] = 0",
    "three = hidden[[0, 1, 2]]",
    "three = hidden[rows]",
    "lengths[:2] = rows",
    "fresh = lengths.new_tensor([1, 2])",
    "fresh = torch.as_tensor(np.ones(3), device='cuda')",
    "lengths.copy_(torch.zeros(8))",
]
FINE = [
    "lengths[0:1] = 1",
    "hidden[0] = 1.0",
    "hidden[:, 0] = 1.0",
    "lengths[mask] = 0",
    "scale = torch.full((), 8.0, device='cuda')",
    "lengths[lengths] = count",
    "host = torch.tensor([1, 2])",
    "staged.cuda(non_blocking=True)",
    "shifted = hidden + torch.tensor(2.0)",
    "lengths.fill_(3)",
    "lengths[..., :] = 2",
]


@pytest.mark.parametrize("statement", REPORTED)
def test_reported(statement: str) -> None:
    fires("CG306", statement)


@pytest.mark.parametrize("statement", FINE)
def test_fine(statement: str) -> None:
    is_silent("CG306", statement)


ACROSS_FILES = {
    "masks.py": """
        import torch


        def causal_bias(size: int, device: torch.device) -> torch.Tensor:
            bias = torch.zeros(size, size)
            return bias.to(device)  # expect: CG306


        def attend(x: torch.Tensor) -> torch.Tensor:
            return x + causal_bias(x.shape[-1], x.device)
    """,
    "runner.py": """
        import torch

        from masks import attend


        def record(x: torch.Tensor):
            x = x.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = attend(x)
            return graph, y
    """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG306-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    fires_not = "scale = torch.tensor(8.0, device='cuda')  # graphlint: ignore[CG306] -- read in warm-up only"
    is_silent("CG306", fires_not)
