"""Numbers that cannot change between a capture and its replays, because one call makes both."""

from __future__ import annotations

from tests.programs import check_marked_rules as check

TIMED = """
    import torch
    from typing import Callable

    def timed(run: Callable[[int], object], times: int):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for index in range(times):  # ok: CG402
                run(index)
        for _ in range(3):
            graph.replay()

    class Tuner:
        def choose(self, x: torch.Tensor, factor: int, tactics: list):
            timed(lambda index: x * factor + index, times=factor)  # ok: CG402
            for tactic in tactics:
                timed(lambda index: x * tactic.scale, times=4)  # ok: CG402
"""


def test_arguments_of_a_call_that_captures_and_replays() -> None:
    check(TIMED)


def test_an_argument_of_a_later_call() -> None:
    program = """
        import torch

        class Scaled:
            def __init__(self):
                self.x = torch.zeros(64, device="cuda")
                self.graph = None

            def run(self, x: torch.Tensor, factor: float):
                if self.graph is None:
                    self.graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(self.graph):
                        self.y = self.x * factor  # expect: CG402
                self.x.copy_(x)
                for _ in range(3):
                    self.graph.replay()
                return self.y.clone()
        """
    check(program)


def test_a_number_of_the_first_turn_of_a_loop() -> None:
    program = """
        import torch

        class Serving:
            def serve(self, x: torch.Tensor, scales: list[float]):
                graph = None
                for scale in scales:
                    if graph is None:
                        graph = torch.cuda.CUDAGraph()
                        with torch.cuda.graph(graph):
                            y = x * scale  # expect: CG402
                    x.add_(1)
                    graph.replay()
        """
    check(program)


def test_a_replay_right_after_the_capture_beside_an_eager_way_out() -> None:
    program = """
        import torch

        class Tried:
            def __init__(self):
                self.x = torch.zeros(64, device="cuda")

            def body(self, sizes: tuple):
                parts = [self.x[:size] for size in sizes]  # ok: CG402
                return torch.cat(parts)

            def run(self, sizes: tuple):
                graph = torch.cuda.CUDAGraph()
                try:
                    with torch.cuda.graph(graph):
                        result = self.body(sizes)
                except RuntimeError:
                    for size in sizes:
                        self.x.add_(size)
                else:
                    graph.replay()
                    return result.clone()
                return self.body(sizes)
        """
    check(program)
