"""Sessions that a service hands out and serves in turn: what one of them keeps is there when it comes back."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

SERVICE = """
import torch

class Session:
    def __init__(self, state: torch.Tensor):
        self.state = state

class Service:
    def __init__(self):
        self.state = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.state + 1
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self.state + 1

    {opening}

    def feed(self, session: Session):
        self.state.copy_(session.state)
        self.graph.replay()
        {keep}  # {mark}
        return session.state.sum().item()
"""
OPEN = """def open(self):
        return Session(torch.zeros(4, device="cuda"))"""
ONLY = """def state_of(self):
        return self.state"""


@pytest.mark.parametrize(
    ("opening", "keep", "mark"),
    [
        (OPEN, "session.state = self.out", "expect: CG201"),
        (OPEN, "session.state = self.out[:]", "expect: CG201"),
        (OPEN, "session.state = self.out.clone()", "ok: CG201"),
        (OPEN, "session.state.copy_(self.out)", "ok: CG201"),
        (ONLY, "session.state = self.out", "ok: CG201"),
    ],
)
def test_outputs_that_a_session_keeps(opening: str, keep: str, mark: str) -> None:
    check_marks(SERVICE.format(opening=opening, keep=keep, mark=mark))
