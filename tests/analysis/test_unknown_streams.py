"""Streams that come from code that is not followed may be the capturing one: no escape is claimed."""

from __future__ import annotations

import pytest

from tests.programs import check_marks


def test_a_stream_that_waits_for_an_unknown_one_may_have_joined() -> None:
    check_marks(
        """
        import torch
        from streams_elsewhere import stream_in_use

        class Branches:
            def __init__(self):
                self.side = torch.cuda.Stream()

            def both(self, x):
                main = stream_in_use()
                self.side.wait_stream(main)
                with torch.cuda.stream(self.side):
                    left = x * 2
                main.wait_stream(self.side)
                return left + x

        def capture(x: torch.Tensor):
            branches = Branches()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = branches.both(x)
            return graph, y
        """
    )


def test_a_stream_that_waits_for_nobody_escapes() -> None:
    check_marks(
        """
        import torch

        def capture(x: torch.Tensor):
            side = torch.cuda.Stream()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                with torch.cuda.stream(side):  # expect: CG501
                    y = x * 2
            return graph, y
        """
    )


SIDES = """
import torch

class Branches:
    def __init__(self, count: int):
        self.sides = [torch.cuda.Stream(), torch.cuda.Stream()]
        self.count = count

    def run(self, x):
        main = torch.cuda.current_stream()
        out = []
        for side in self.sides:
            side.wait_stream(main)
            with torch.cuda.stream(side):{mark}
                out.append(x * 2)
        {join}
        return out

def capture(x: torch.Tensor, count: int, wanted: bool):
    branches = Branches(count)
    branches.run(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = branches.run(x)
    return graph, y
"""


@pytest.mark.parametrize(
    "join",
    [
        "for side in self.sides: main.wait_stream(side)",
        "for side in self.sides[: self.count]: main.wait_stream(side)",
        "elsewhere(self.sides[0] if x.dim() else self.sides[1])",
    ],
)
def test_every_stream_of_a_list_is_joined(join: str) -> None:
    check_marks(SIDES.format(join=join, mark="" if "elsewhere" not in join else "  # ok: CG506"))


def test_one_stream_of_a_list_is_forgotten() -> None:
    check_marks(SIDES.format(join="main.wait_stream(self.sides[0])", mark="  # expect: CG506"))


def test_a_stream_set_in_another_arm_is_not_the_current_one() -> None:
    check_marks(
        """
        import torch

        def run(x, apart: bool):
            if apart:
                torch.cuda.set_stream(torch.cuda.Stream())
            return x * 2  # ok: CG501

        def capture(x: torch.Tensor, apart: bool):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = run(x, apart)
            return graph, y
        """
    )
