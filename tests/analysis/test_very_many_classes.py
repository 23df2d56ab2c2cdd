"""A parameter for which very many classes stand: what all of them have is followed, what each may change is not."""

from __future__ import annotations

from tests.programs import check_marks

_CLASSES = "\n".join(
    f"""
class Backend{n}(Backend):
    def run(self, x):
        return x

    def tune(self, x):
        return x * {n}

made{n} = Backend{n}(4)
"""
    for n in range(10)
)

_PROGRAM = f"""
import abc
import torch

class Backend(abc.ABC):
    def __init__(self, width: int):
        self.rows = torch.zeros(width, device="cuda")
        self.checks = True

    @abc.abstractmethod
    def run(self, x): ...

    def shared(self, x):
        torch.cuda.synchronize()  # expect: CG301
        return x + self.rows

    def tune(self, x):
        torch.cuda.synchronize()  # ok: CG301
        return x

{_CLASSES}
"""


def test_fields_and_methods_of_the_common_base_are_followed() -> None:
    check_marks(
        _PROGRAM
        + """
class Runner:
    def __init__(self, backend: Backend):
        self.backend = backend

    def capture(self, x: torch.Tensor):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.backend.tune(self.backend.run(self.backend.shared(x)))

    def step(self, rows: torch.Tensor):
        self.backend.rows = rows.cuda()  # expect: CG101
        self.graph.replay()

class Careful:
    def __init__(self, backend: Backend):
        self.backend = backend

    def capture(self, x: torch.Tensor):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.backend.rows + x

    def step(self, rows: torch.Tensor):
        self.backend.rows.copy_(rows)  # ok: CG101
        self.graph.replay()
""",
        select=("CG101", "CG301"),
    )
