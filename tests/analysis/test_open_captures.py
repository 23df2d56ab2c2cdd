"""A capture that a method leaves open belongs to the method that closes it, and to nothing else."""

from __future__ import annotations

from tests.programs import check_marks


def test_a_method_that_goes_on_capturing_does_not_swallow_the_next_one() -> None:
    check_marks(
        """
        import torch

        class Pieces:
            def __init__(self):
                self.parts = []
                self.graph = None

            def __enter__(self):
                self.open()
                return self

            def __exit__(self, *error):
                self.close()

            def open(self):
                self.graph = torch.cuda.CUDAGraph()
                self.graph.capture_begin()

            def close(self):
                self.graph.capture_end()
                self.parts.append(self.graph.replay)

            def gap(self, work):
                self.close()
                work()
                self.parts.append(work)
                self.open()

            def run(self):
                for part in self.parts:
                    part()

        def total(pieces: Pieces, loss: torch.Tensor):
            pieces.run()
            return loss.item()
        """
    )


def test_a_capture_begun_in_one_method_and_ended_in_another_holds_what_is_between() -> None:
    check_marks(
        """
        import torch

        class Recorder:
            def __init__(self):
                self.graph = torch.cuda.CUDAGraph()

            def start(self):
                self.graph.capture_begin()

            def work(self, x: torch.Tensor):
                return x.sum().item()  # expect: CG302

            def stop(self):
                self.graph.capture_end()

        def record(x: torch.Tensor):
            recorder = Recorder()
            recorder.start()
            y = recorder.work(x)
            recorder.stop()
            return recorder, y
        """
    )


def test_only_one_of_two_arms_opens_a_capture_and_one_end_closes_it() -> None:
    check_marks(
        """
        import torch

        class Segment:
            def __init__(self, plain):
                self.plain = plain
                self.graph = torch.cuda.CUDAGraph()

            def begin(self, pool):
                if self.plain:
                    self.graph.capture_begin(pool=pool)
                else:
                    self.graph.capture_begin(pool=pool, capture_error_mode="thread_local")

            def end(self):
                self.graph.capture_end()

            def record(self, x: torch.Tensor, pool):
                self.begin(pool)
                torch.cuda.synchronize()  # expect: CG301
                self.end()
                torch.cuda.synchronize()  # ok: CG301
                return x
        """
    )


def test_a_graph_made_in_one_of_two_ways_is_one_capture() -> None:
    check_marks(
        """
        import torch

        def record(x: torch.Tensor, side: torch.cuda.Stream, keeps: bool):
            if keeps:
                graph = torch.cuda.CUDAGraph(keep_graph=True)
            else:
                graph = torch.cuda.CUDAGraph()
            with torch.cuda.stream(side):
                y = x.cuda().relu()
                side.synchronize()
                graph.capture_begin()
                z = y.relu()
                torch.cuda.synchronize()  # expect: CG301
                graph.capture_end()
                torch.cuda.synchronize()  # ok: CG301
            return z
        """
    )


def test_the_second_way_to_begin_is_tried_from_where_the_first_began() -> None:
    check_marks(
        """
        import torch

        def record(graph: torch.cuda.CUDAGraph, x: torch.Tensor, pool):
            try:
                graph.capture_begin(pool=pool, capture_error_mode="relaxed")
            except TypeError:
                graph.capture_begin(pool=pool)
            x.add_(1)
            graph.capture_end()
            torch.cuda.synchronize()  # ok: CG301
        """
    )
