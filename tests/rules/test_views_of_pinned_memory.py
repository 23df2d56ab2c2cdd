"""NumPy views of pinned memory that a replay fills."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

COUNTS = """
import numpy as np
import torch

class Worker:
    def __init__(self, rows: int):
        self.x = torch.zeros(rows, device="cuda")
        self.host = torch.zeros(rows, pin_memory=True)
        self.view: np.ndarray = self.host.numpy()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.host.copy_(self.x * 2, non_blocking=True)

    def step(self, x, rows: int):
        self.x.copy_(x)
        self.graph.replay()
        {wait}
        return [self.view[i] for i in range(rows)]  # {mark}: CG204
"""


@pytest.mark.parametrize(("wait", "mark"), [("pass", "expect"), ("torch.cuda.synchronize()", "ok")])
def test_entries_of_an_annotated_view(wait: str, mark: str) -> None:
    check(COUNTS.format(wait=wait, mark=mark))
