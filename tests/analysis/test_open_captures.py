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
