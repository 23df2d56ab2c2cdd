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


RUNNER = """
import torch

class Manager:
    def __init__(self, model: torch.nn.Module, group, sizes: list[int]):
        self.model, self.group, self.sizes = model, group, sizes
        self.graphs, self.pool = {}, torch.cuda.graph_pool_handle()
        self.hidden = None
        self.x = torch.zeros(64, 8, device="cuda")

    def forward_of(self, size: int):
        def forward():
            out = self.model(self.x[:size])
            if self.group.is_last:
                if TEST:
                    self.hidden = torch.empty_like(out)
                self.hidden[:size] = out

        return forward

    def capture(self):
        for size in self.sizes:
            forward = self.forward_of(size)
            forward()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                forward()
            self.graphs[size] = graph

    def run(self, size: int, x: torch.Tensor):
        self.x[:size].copy_(x)
        self.graphs[size].replay()
        return self.hidden[:size].clone()READ

def main(model: torch.nn.Module, group):
    manager = Manager(model, group, [64, 32, 16, 8, 4, 2, 1])
    manager.capture()
    for x in (torch.randn(2, 8, device="cuda"), torch.randn(2, 8, device="cuda")):
        manager.forward_of(2)()
        manager.run(2, x)
"""


def runner(test: str, read: str = "") -> str:
    return RUNNER.replace("TEST", test).replace("READ", read)


def test_a_closure_fills_a_field_of_what_it_closes_over() -> None:
    check_marks(runner("self.hidden is None"))


def test_a_closure_that_asks_for_something_else_rebinds_the_field() -> None:
    check_marks(runner("self.group.fresh", "  # expect: CG201"))
