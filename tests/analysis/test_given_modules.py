"""Modules that nobody constructs have weights as well; a field called `graph` is not the capture context."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch
import torch.nn as nn

class Worker:
    def __init__(self, net: nn.Module):
        self.net = net.cuda()
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def sleep(self):
        self.net{move}  # {mark}: CG102

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("move", "mark"), [(".to('cpu')", "expect"), (".half()", "expect"), (".eval()", "ok"), (".cuda()", "ok")]
)
def test_the_weights_of_a_given_module_move(move: str, mark: str) -> None:
    check_marks(PROGRAM.format(move=move, mark=mark), select=("CG102",))


def test_calling_a_field_named_graph_replays_it_step_after_step() -> None:
    check_marks(
        """
        import torch

        class Doubler:
            def __init__(self):
                self.x = torch.zeros(4, device="cuda")
                self.replayed = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.replayed):
                    self.y = self.x * 2

            def __call__(self, x):
                self.x.copy_(x)
                self.replayed.replay()
                return self.y

        class Server:
            def __init__(self):
                self.graph = Doubler()
                self.answers = []

            def answer(self, x):
                y = self.graph(x)
                self.answers.append(y)  # expect: CG201
                return torch.stack(self.answers)
        """,
        select=("CG201",),
    )
