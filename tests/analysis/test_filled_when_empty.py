"""A field that is only filled where it is empty keeps what a graph captured."""

from __future__ import annotations

from tests.programs import check_marks

PROGRAM = """
import torch

class Drafter:
    def __init__(self, size: int):
        self.tokens = torch.zeros(size, device="cuda")

class Bench:
    def __init__(self, size: int, wanted: bool = True):
        self.size, self.wanted = size, wanted
        self.drafter = None
        self.graph = None

    def begin(self):
        if self.wanted:
            if self.drafter is None:
                self.drafter = Drafter(self.size){mark}

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.drafter.tokens + 1

    def measure(self):
        self.graph.replay()
        return self.out.clone()

def main(size: int, wanted: bool):
    bench = Bench(size, wanted)
    bench.begin()
    bench.capture()
    {between}
    bench.begin()
    bench.measure()
"""


def test_a_field_filled_under_an_is_none_test_is_not_rebound() -> None:
    check_marks(PROGRAM.format(mark="", between="pass"))


def test_a_field_that_was_emptied_after_the_capture_is_rebound() -> None:
    mark = "  # expect: CG101"
    check_marks(PROGRAM.format(mark=mark, between="bench.drafter = None  # expect: CG101"))


def test_asking_whether_a_changing_number_is_there_freezes_nothing() -> None:
    check_marks(
        """
        import torch

        class Step:
            def __init__(self):
                self.x = torch.zeros(8, device="cuda")
                self.graph = None

            def body(self, count):
                if count is not None:
                    self.x.mul_(2)

            def run(self, count):
                if self.graph is None:
                    self.graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(self.graph):
                        self.body(count)
                self.graph.replay()

        def serve(step: Step, counts: list[int]):
            for count in counts:
                step.run(count)
        """
    )
