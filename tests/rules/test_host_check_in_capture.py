"""CG307: operations that need an answer from the device."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows
from tests.rules.statements import fires, is_silent

REPORTED = [
    "inverse = torch.linalg.inv(self.weight)",
    "factor = torch.linalg.cholesky(self.weight)",
    "same = torch.equal(hidden, hidden + 1)",
    "close = torch.allclose(hidden, hidden + 1)",
    "u, s, v = torch.linalg.svd(self.weight)",
    "drawn = torch.distributions.Normal(hidden, hidden + 1).sample()",
    "torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0, error_if_nonfinite=True)",
    "torch.distributed.barrier()",
    "inverse, info = torch.linalg.inv_ex(self.weight, check_errors=True)",
]
FINE = [
    "inverse, info = torch.linalg.inv_ex(self.weight)",
    "close = torch.isclose(hidden, hidden + 1)",
    "drawn = torch.distributions.Normal(hidden, hidden + 1, validate_args=False).sample()",
    "torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)",
    "q, r = torch.linalg.qr(self.weight)",
    "same = torch.equal(rows, rows)",
    "size = torch.linalg.norm(hidden)",
]


@pytest.mark.parametrize("statement", REPORTED)
def test_reported(statement: str) -> None:
    fires("CG307", statement)


@pytest.mark.parametrize("statement", FINE)
def test_fine(statement: str) -> None:
    is_silent("CG307", statement)


ACROSS_FILES = {
    "precondition.py": """
        import torch


        def preconditioned(x: torch.Tensor) -> torch.Tensor:
            gram = x.T @ x + torch.eye(x.shape[-1], device=x.device)
            return torch.linalg.solve(gram, x.T).T  # expect: CG307
    """,
    "runner.py": """
        import torch

        from precondition import preconditioned


        def record(x: torch.Tensor):
            x = x.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = preconditioned(x)
            return graph, y
    """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG307-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    fires_not = "inverse = torch.linalg.inv(self.weight)  # graphlint: ignore[CG307] -- read in warm-up only"
    is_silent("CG307", fires_not)
