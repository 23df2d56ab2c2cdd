"""Loops whose own count tells when they warm up, capture and replay."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch

def run(net: torch.nn.Module, batches: list[torch.Tensor]):
    x = torch.zeros(8, device="cuda")
    graph, kept = None, []
    {start}
    {loop}
        if step < 10:
            net(x)
        elif {asked}:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = net(x)
        else:
            {fill}
            graph.replay()
            kept.append({kept})
        {count}
    return torch.stack(kept)
"""
WHILE = {"start": "step = 0", "loop": "while step < 500:", "count": "step += 1"}
FOR = {"start": "pass", "loop": "for step in range(500):", "count": "pass"}


@pytest.mark.parametrize("form", [WHILE, FOR])
@pytest.mark.parametrize("asked", ["graph is None", "step == 10"])
@pytest.mark.parametrize(
    ("fill", "kept"),
    [
        ("x.copy_(batches[step])", "y.clone()"),
        ("x.copy_(batches[step])", "y)  # expect: CG201"),
    ],
)
def test_phases_of_a_loop(form: dict[str, str], asked: str, fill: str, kept: str) -> None:
    program = PROGRAM.format(asked=asked, fill=fill, kept=kept, **form)
    check_marks(program.replace("CG201)", "CG201"))
