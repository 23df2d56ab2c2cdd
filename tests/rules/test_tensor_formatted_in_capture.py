"""CG304: text made of device tensors in captured code."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows
from tests.rules.statements import fires, is_silent

REPORTED = [
    "print(hidden)",
    "print('loss', loss)",
    "text = f'loss {loss}'",
    "text = f'{loss:.3f}'",
    "text = str(lengths)",
    "text = repr(hidden)",
    "text = 'loss %s' % loss",
    "text = 'loss {}'.format(loss)",
    "print([loss, loss])",
]
FINE = [
    "print(hidden.shape)",
    "text = f'{hidden.dtype} {hidden.device}'",
    "text = str(self.heads)",
    "print(rows)",
    "text = 'loss %d' % self.heads",
    "text = f'{tuple(hidden.shape)}'",
    "print('captured')",
]


@pytest.mark.parametrize("statement", REPORTED)
def test_reported(statement: str) -> None:
    fires("CG304", statement)


@pytest.mark.parametrize("statement", FINE)
def test_fine(statement: str) -> None:
    is_silent("CG304", statement)


ACROSS_FILES = {
    "checks.py": """
        import torch


        def describe(name: str, value: torch.Tensor) -> str:
            return f"{name}: {value.min()} .. {value.max()}"  # expect: CG304


        def activation(x: torch.Tensor) -> torch.Tensor:
            y = torch.relu(x)
            describe("activation", y)
            return y
    """,
    "runner.py": """
        import torch

        from checks import activation


        def record(x: torch.Tensor):
            x = x.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = activation(x)
            return graph, y
    """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG304-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    fires_not = "print(loss)  # graphlint: ignore[CG304] -- read in warm-up only"
    is_silent("CG304", fires_not)
