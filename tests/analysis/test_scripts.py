"""What the statements of a script make and call is run, as the same statements in a function are."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

RUNNER = """
import torch


class Runner:
    def __init__(self, function, x):
        self.function, self.x = function, x
        self.function(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.function(self.x)

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y


def graphed(function, x):
    return Runner(function, x)


def center(x):
    return x - x.{operation}  # {mark}: CG302


"""


@pytest.mark.parametrize(("operation", "mark"), [("mean().item()", "expect"), ("mean()", "ok")])
@pytest.mark.parametrize(
    "script",
    [
        "runner = Runner(center, torch.zeros(8, device='cuda'))\nprint(runner(torch.ones(8)))",
        "if __name__ == '__main__':\n    run = graphed(center, torch.zeros(8, device='cuda'))\n    run(1)",
        "for n in (4, 8):\n    Runner(center, torch.zeros(n, device='cuda'))",
        "print(Runner(center, torch.zeros(8, device='cuda'))(torch.ones(8)).sum())",
        "graphed(center, torch.zeros(8, device='cuda'))",
        "graphed(lambda x: center(x) + 1, torch.zeros(8, device='cuda'))",
    ],
)
def test_a_script_makes_what_captures(script: str, operation: str, mark: str) -> None:
    check_marked_rules(RUNNER.format(operation=operation, mark=mark) + script)


@pytest.mark.parametrize(("clone", "mark"), [("", "expect"), (".clone()", "ok")])
def test_a_script_keeps_what_it_is_given(clone: str, mark: str) -> None:
    script = f"""
step = Runner(center, torch.zeros(8, device="cuda"))
kept = []
for _ in range(3):
    kept.append(step(torch.ones(8)){clone})  # {mark}: CG201
print(torch.stack(kept))
"""
    check_marked_rules(RUNNER.format(operation="mean()", mark="ok") + script)


@pytest.mark.parametrize(("operation", "mark"), [("mean().item()", "expect"), ("mean()", "ok")])
def test_the_class_is_imported(operation: str, mark: str) -> None:
    library = RUNNER.format(operation=operation, mark=mark)
    script = """
import torch
from library import Runner, center

runner = Runner(center, torch.zeros(8, device="cuda"))
value = runner(torch.ones(8))
"""
    check_marked_rules({"library.py": library, "script.py": script})


ON_DEMAND = """
import torch


class Table:
    def __init__(self):
        self.level = torch.zeros(4, dtype=torch.long, device="cuda")


table = Table()
q = torch.zeros(4, 64, device="cuda")
graphs = {{}}


def capture(width):
    table.level.add_(0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # {mark}: CG607
        y = q[:, :width] * table.level.unsqueeze(1)
    return graph, y


def run(n):
    width = {width}
    if width not in graphs:
        graphs[width] = capture(width)
    table.level.fill_(n)
    graph, y = graphs[width]
    graph.replay()
    return y.clone()


{script}
"""


@pytest.mark.parametrize(
    ("width", "script", "mark"),
    [
        ("16 * (n // 16 + 1)", "for n in range(1, 60):\n    run(n)", "ok"),
        ("n", "for n in range(1, 60):\n    capture(n)", "ok"),
        ("n", "for n in range(1, 600):\n    capture(n)", "expect"),
    ],
)
def test_the_loop_of_a_script_is_one_loop(width: str, script: str, mark: str) -> None:
    check_marked_rules(ON_DEMAND.format(width=width, script=script, mark=mark))


@pytest.mark.parametrize(("given", "mark"), [("len(request)", "expect"), ("4", "ok")])
def test_a_function_uses_what_the_script_has_made(given: str, mark: str) -> None:
    program = f"""
    import torch


    class Runner:
        def __init__(self):
            self.x, self.graph = torch.ones(4, 64, device="cuda"), None

        def run(self, n):
            if self.graph is None:
                self.x * n
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * n  # {mark}: CG402
            self.graph.replay()
            return self.y.clone()


    runner = Runner()


    def serve(requests):
        for request in requests:
            print(runner.run({given}))
    """
    check_marked_rules(program)


@pytest.mark.parametrize(("copy", "mark"), [("", "expect"), (".clone()", "ok")])
def test_a_table_in_which_a_key_is_missed_once(copy: str, mark: str) -> None:
    program = f"""
    import torch


    class Table:
        def __init__(self, function):
            self.function, self.table = function, {{}}
            self.x = torch.zeros(8, 4, device="cuda")

        def record(self, n):
            self.function(self.x[:n])
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = self.function(self.x[:n])
            return graph, y

        def __call__(self, x):
            n = x.shape[0]
            try:
                graph, y = self.table[n]
            except KeyError:
                graph, y = self.table[n] = self.record(n)
            self.x[:n].copy_(x)
            graph.replay()
            return y


    def main():
        run = Table(torch.nn.Linear(4, 4).cuda().requires_grad_(False))
        kept = []
        for n in (8, 8, 8):
            kept.append(run(torch.randn(n, 4, device="cuda")){copy})  # {mark}: CG201
        print(torch.cat(kept))
    """
    check_marked_rules(program)


@pytest.mark.parametrize(("width", "mark"), [("n", "expect"), ("4", "ok")])
def test_a_loop_of_the_script_gives_a_function_its_numbers(width: str, mark: str) -> None:
    program = f"""
    import torch

    keys = torch.zeros(4, 64, 8, device="cuda")
    q = torch.zeros(4, 8, device="cuda")
    graph = None


    def attend(n):
        return keys[:, :n] @ q.unsqueeze(-1)  # {mark}: CG402


    def decode(x, n):
        global graph, out
        q.copy_(x)
        if graph is None:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = attend(n)
        graph.replay()
        return out.clone()


    for n in range(1, 60):
        decode(torch.randn(4, 8, device="cuda"), {width})
    """
    check_marked_rules(program)
