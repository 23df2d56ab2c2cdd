"""Streams that come from code that is not followed may be the capturing one: no escape is claimed."""

from __future__ import annotations

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
