"""Programs that must be run to an end: recursion of every kind, and library methods without their owner."""

from __future__ import annotations

from tests.programs import check_marks


def test_a_generator_that_yields_from_itself_comes_to_an_end() -> None:
    check_marks(
        """
        import torch

        def leaves(tree):
            if isinstance(tree, (list, tuple)):
                for branch in tree:
                    yield from leaves(branch)
            else:
                yield tree

        def capture(tree, x: torch.Tensor):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for leaf in leaves(tree):
                    x.add_(1)
                x.sum().item()  # expect: CG302
            return graph
        """
    )


def test_a_stream_method_taken_from_its_class_is_followed() -> None:
    check_marks(
        """
        import torch

        def capture(x: torch.Tensor):
            side = torch.cuda.Stream()
            torch.cuda.Stream.wait_stream(side, torch.cuda.current_stream())
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=side):
                y = x + 1
            return graph, y
        """
    )
