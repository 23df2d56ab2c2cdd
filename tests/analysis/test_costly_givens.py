"""A given object may be a whole engine: making it must not take the steps of what is captured."""

from __future__ import annotations

from tests.programs import check_marks

_ENGINE = "\n".join(f"        self.part_{n} = str(int(n + {n}))" for n in range(9000))

_PROGRAM = """
import torch

class Engine:
    def __init__(self, n):
        self.device = "cuda"
{parts}

class Runner:
    def __init__(self, engine: Engine):
        self.device = engine.device

    def capture(self, x: torch.Tensor):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x.cuda().relu()
            torch.cuda.synchronize()  # expect: CG301
        torch.cuda.synchronize()  # ok: CG301
        return graph, y
"""


def test_a_capture_is_reached_beside_a_constructor_that_takes_all_steps() -> None:
    check_marks(_PROGRAM.format(parts=_ENGINE))


_RUNNER = """
import torch

class Runner:
    def __init__(self, n):
        self.x = torch.zeros(8, device="cuda")
{parts}
        self.capture()

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x.relu()
            torch.cuda.synchronize()  # expect: CG301
        torch.cuda.synchronize()  # ok: CG301

    def step(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
"""


def test_a_capture_is_run_although_the_constructor_does_not_come_to_it() -> None:
    check_marks(_RUNNER.format(parts=_ENGINE))


def test_a_field_of_a_costly_given_object_is_bound_under_else() -> None:
    under_else = (
        '        if n:\n            print(n)\n        else:\n            self.device = "cuda"\n'
        "        if n > 1:\n            return\n"
    )
    check_marks(_PROGRAM.format(parts=_ENGINE).replace('        self.device = "cuda"\n', under_else, 1))
