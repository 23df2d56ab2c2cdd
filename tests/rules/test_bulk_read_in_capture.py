"""CG303: whole tensors copied to the host in captured code."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows
from tests.rules.statements import fires, is_silent

REPORTED = [
    "host = hidden.cpu()",
    "values = lengths.tolist()",
    "host = hidden.detach().to('cpu')",
    "array = hidden.cpu().numpy()",
    "rows.copy_(lengths[:2])",
    "staged.copy_(hidden[0, :8])",
    "blob = pickle.dumps(hidden)",
    "torch.save(hidden, 'hidden.pt')",
    "array = np.asarray(hidden)",
]
FINE = [
    "staged.copy_(hidden[0, :8], non_blocking=True)",
    "small = hidden.to(torch.float16)",
    "same = hidden.to('cuda')",
    "numbers = rows.tolist()",
    "array = rows.numpy()",
    "copied = hidden.clone()",
    "shape = list(hidden.shape)",
    "other = copy.copy(self.heads)",
]


@pytest.mark.parametrize("statement", REPORTED)
def test_reported(statement: str) -> None:
    fires("CG303", statement)


@pytest.mark.parametrize("statement", FINE)
def test_fine(statement: str) -> None:
    is_silent("CG303", statement)


ACROSS_FILES = {
    "telemetry.py": """
        import torch

        HISTORY: list[list[float]] = []


        def observe(x: torch.Tensor) -> torch.Tensor:
            norms = x.norm(dim=-1)
            HISTORY.append(norms.tolist())  # expect: CG303
            return x / norms.unsqueeze(-1)
    """,
    "runner.py": """
        import torch

        from telemetry import observe


        def record(x: torch.Tensor):
            x = x.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = observe(x)
            return graph, y
    """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG303-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    fires_not = "host = hidden.cpu()  # graphlint: ignore[CG303] -- read in warm-up only"
    is_silent("CG303", fires_not)
