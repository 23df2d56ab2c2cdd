"""CG402: when a number counts as changed between the capture and a replay."""

from __future__ import annotations

from tests.programs import check_marks, findings

PROGRAM = """
import torch

class Step:
    def __init__(self, x):
        self.x = x
        self.beta = 0.0
        self.graph = None

    def body(self):
        return self.x * self.beta{mark}

    def __call__(self):
        if self.graph is None:
            self.body()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.body()
        self.graph.replay()
        return self.y.clone()

def main(epochs, loader):
    step = Step(torch.zeros(4, device="cuda"))
{loop}
"""
FROZEN = "  # expect: CG402"


def check(loop: str, mark: str) -> None:
    check_marks(PROGRAM.format(mark=mark, loop=loop))


def test_an_element_of_a_loop() -> None:
    check(
        """
    for epoch in range(epochs):
        step.beta = epoch
        step()
""",
        FROZEN,
    )


def test_a_number_computed_in_an_outer_loop() -> None:
    check(
        """
    for epoch in range(epochs):
        step.beta = epoch * 0.1
        for x in loader:
            step()
""",
        FROZEN,
    )


def test_captured_anew_in_the_outer_loop() -> None:
    check(
        """
    for epoch in range(epochs):
        step.beta = epoch * 0.1
        step.graph = None
        for x in loader:
            step()
""",
        "",
    )


def test_a_count() -> None:
    check(
        """
    epoch = 0
    while epoch < epochs:
        step.beta = epoch * 0.1
        for x in loader:
            step()
        epoch += 1
""",
        FROZEN,
    )


def test_captured_anew_when_it_changes() -> None:
    check_marks("""
import torch

class Step:
    def __init__(self, x):
        self.x = x
        self.beta = 0.0
        self.graph = None

    def set_beta(self, beta):
        if beta != self.beta:
            self.beta = beta
            self.graph = None

    def __call__(self):
        if self.graph is None:
            (self.x * self.beta)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.x * self.beta
        self.graph.replay()
        return self.y.clone()
""")


def test_a_number_among_the_inputs_of_a_warp_launch() -> None:
    check_marks(
        """
import warp as wp

@wp.kernel
def scale(x: wp.array(dtype=float), by: float):
    i = wp.tid()
    x[i] = x[i] * by

class Example:
    def __init__(self, n):
        self.by, self.size = 2.0, n
        self.x = wp.zeros(n, dtype=float, device="cuda")
        with wp.ScopedCapture(device="cuda") as capture:
            inputs = [self.x, self.by]
            wp.launch(scale, dim=self.size, inputs=inputs, device="cuda")  # expect: CG402
        self.graph = capture.graph

    def step(self):
        self.by = self.by * 2.0
        wp.capture_launch(self.graph)
"""
    )


def test_a_test_is_one_finding() -> None:
    found = findings(
        """
import torch

class Step:
    def __init__(self, x):
        self.x = x
        self.fast = self.deep = False
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.body()

    def body(self):
        if not self.fast and not self.deep:
            return self.x * 2.0
        return self.x * 3.0

    def run(self, fast, deep):
        self.fast, self.deep = fast, deep
        self.graph.replay()
        return self.y.clone()
"""
    )
    assert [(each.code, each.span.line) for each in found if each.code == "CG402"] == [("CG402", 13)]


def test_a_flag_that_the_program_turns_around_its_capture() -> None:
    check_marks(
        """
import torch

class Step:
    def __init__(self, x):
        self.x = x
        self.recording = True
        self.body()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.body()
        self.recording = False

    def body(self):
        if self.recording:
            return self.x * 2.0
        return self.x * 3.0

    def run(self):
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_a_local_that_the_capturing_function_changes_before_each_replay() -> None:
    check_marks(
        """
        import torch

        def anneal(batches):
            x = torch.zeros(4, 8, device="cuda")
            scale, offset = 1.0, 2.0
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                y = x * scale  # expect: CG402
                z = y + offset  # ok: CG402
            for b in batches:
                scale *= 0.9
                x.copy_(b)
                g.replay()
            return x, z
        """
    )


def test_a_local_of_each_of_several_graphs() -> None:
    check_marks(
        """
        import torch

        def several(sizes):
            graphs = []
            x = torch.zeros(4, 8, device="cuda")
            for n in sizes:
                scale = 1.0 / n
                g = torch.cuda.CUDAGraph()
                with torch.cuda.graph(g):
                    y = x * scale  # ok: CG402
                graphs.append((g, y))
            for g, y in graphs:
                g.replay()
            return graphs, x

        def one_by_one(sizes):
            x = torch.zeros(4, 8, device="cuda")
            for n in sizes:
                scale = 1.0 / n
                g = torch.cuda.CUDAGraph()
                with torch.cuda.graph(g):
                    y = x * scale  # ok: CG402
                g.replay()
                print(y.sum().item())
        """
    )
