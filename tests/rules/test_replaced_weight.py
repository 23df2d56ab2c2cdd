"""CG102: weights that get other memory while a graph reads the old one."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.programs import check_marks

CAPTURED = """
import copy
import torch
from torch import nn


class Session:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).cuda()
        self.x = torch.zeros(2, 4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            self.net(self.x)
            with torch.cuda.graph(self.graph):
                self.y = self.net(self.x)

    def run(self):
        self.graph.replay()
        return self.y.clone()


def main(state, vector, dtype):
    session = Session()
    session.run()
"""


def after_the_capture(body: str) -> str:
    return CAPTURED + indent(dedent(body), "    ") + "    session.run()\n"


@pytest.mark.parametrize(
    "change",
    [
        "session.net.cpu()",
        'session.net.to("cpu")',
        "session.net.half()",
        "session.net.to(torch.bfloat16)",
        "session.net.to(dtype=torch.float64)",
        "session.net.load_state_dict(state, assign=True)",
        "nn.utils.vector_to_parameters(vector, session.net.parameters())",
        "session.net[0].weight.set_(vector)",
        "torch.utils.swap_tensors(session.net[0].bias, vector)",
    ],
)
def test_other_memory(change: str) -> None:
    check_marks(after_the_capture(f"{change}  # expect: CG102\n"))


@pytest.mark.parametrize(
    "change",
    [
        "session.net.cuda()",
        "session.net.float()",
        "session.net.to(torch.float32)",
        "session.net.to(dtype)",
        "session.net.load_state_dict(state)",
        "session.net.eval()",
        "exported = copy.deepcopy(session.net).cpu()",
        "session.net[0].weight.data.copy_(vector)",
    ],
)
def test_the_same_memory(change: str) -> None:
    check_marks(after_the_capture(f"{change}\n"))


def test_a_cast_before_the_capture() -> None:
    check_marks(
        """
        import torch
        from torch import nn

        def main(x):
            net = nn.Linear(4, 4).cuda().half()
            net(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = net(x)
            net.half()
            graph.replay()
            return y.clone()
        """
    )


def test_another_module_of_the_same_class() -> None:
    check_marks(after_the_capture("other = nn.Linear(4, 4).cuda()\nother.half()\n"))
