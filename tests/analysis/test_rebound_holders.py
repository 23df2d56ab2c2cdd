"""An object or a container that holds what a graph reads is judged by the tensors in it."""

from __future__ import annotations

from tests.programs import check_marks

HEAD = """
import torch

class Plan:
    def __init__(self, n, lens=None):
        self.lens = lens if lens is not None else torch.zeros(n, device="cuda")
        self.notes = torch.zeros(n, device="cuda")

class Outer:
    def __init__(self, n):
        self.plan = Plan(n)

"""


def test_an_object_made_anew_brings_other_tensors() -> None:
    check_marks(
        HEAD
        + """
class Runner:
    def __init__(self, n):
        self.n = n
        self.plan = Plan(n)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.plan.lens * 2

    def step(self):
        self.plan = Plan(self.n)  # expect: CG101
        self.graph.replay()
"""
    )


def test_an_object_around_the_captured_tensors_is_the_same() -> None:
    check_marks(
        HEAD
        + """
class Runner:
    def __init__(self, n):
        self.n = n
        self.plan = Plan(n)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.plan.lens * 2

    def step(self):
        self.plan = Plan(self.n, self.plan.lens)  # ok: CG101
        self.graph.replay()
"""
    )


def test_an_object_further_out_is_followed() -> None:
    check_marks(
        HEAD
        + """
def run(n, steps):
    outer = Outer(n)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = outer.plan.lens * 2
    for _ in range(steps):
        outer.plan = Plan(n)  # expect: CG101
        graph.replay()
    return out.clone()
"""
    )


def test_objects_that_change_places_leave_the_graph_with_the_old_order() -> None:
    check_marks(
        HEAD
        + """
class Solver:
    def __init__(self, n):
        self.now, self.then = Plan(n), Plan(n)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.then.lens.copy_(self.now.lens * 0.5)

    def step(self):
        self.graph.replay()
        self.now, self.then = self.then, self.now  # expect: CG101
"""
    )


def test_objects_that_change_places_in_the_capture_only() -> None:
    check_marks(
        HEAD
        + """
class Solver:
    def __init__(self, n):
        self.now, self.then = Plan(n), Plan(n)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(2):
                self.then.lens.copy_(self.now.lens * 0.5)
                self.now, self.then = self.then, self.now  # ok: CG101

    def step(self):
        self.graph.replay()
        return self.now.lens.sum().item()
"""
    )


def test_a_dict_and_a_list_made_anew() -> None:
    check_marks(
        """
import torch

class Runner:
    def __init__(self, n):
        self.n = n
        self.inputs = {"x": torch.zeros(n, device="cuda")}
        self.layers = [torch.zeros(n, device="cuda"), torch.ones(n, device="cuda")]
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = torch.stack(self.layers) * self.inputs["x"]

    def step(self):
        self.inputs = {"x": torch.ones(self.n, device="cuda")}  # expect: CG101
        self.layers = [torch.ones(self.n, device="cuda"), torch.ones(self.n, device="cuda")]  # expect: CG101
        self.graph.replay()
"""
    )


def test_what_the_capture_did_not_read_does_not_count() -> None:
    check_marks(
        HEAD
        + """
class Runner:
    def __init__(self, n):
        self.plan = Plan(n)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.plan.lens * 2

    def step(self, n):
        self.plan.notes = torch.ones(n, device="cuda")  # ok: CG101
        self.graph.replay()
"""
    )


def test_containers_of_what_was_moved_to_the_device() -> None:
    check_marks(
        """
import torch

class Runner:
    def __init__(self, n):
        self.named = {"x": torch.zeros(n, device="cuda")}
        self.pair = (torch.zeros(n, device="cuda"), torch.zeros(n, device="cuda"))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.named["x"] + self.pair[0] * self.pair[1]

    def step(self, named, pair):
        self.named = {key: value.cuda() for key, value in named.items()}  # expect: CG101
        self.pair = tuple(each.to("cuda") for each in pair)  # expect: CG101
        self.graph.replay()
"""
    )


OPTIMIZERS = """
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Linear(4, 4).cuda()
        self.x = torch.zeros(2, 4, device="cuda")
        self.begin()
        self.graph = torch.cuda.CUDAGraph()

    def begin(self):
        self.optimizer = OPTIMIZER

    def iteration(self):
        self.net(self.x).sum().backward()
        self.optimizer.step()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.optimizer.zero_grad(set_to_none=True)
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.iteration()

    def resume(self, state):
        self.optimizer.load_state_dict(state)  # ok: CG102

    def step(self):
        self.graph.replay()
"""
ADAM = OPTIMIZERS.replace("OPTIMIZER", "torch.optim.Adam(self.net.parameters(), capturable=True)")
PLAIN = OPTIMIZERS.replace("OPTIMIZER", "torch.optim.SGD(self.net.parameters(), lr=0.1)")


def test_a_new_optimizer_has_new_moments() -> None:
    text = ADAM.replace("capturable=True)", "capturable=True)  # expect: CG101")
    check_marks(text + "\ndef main():\n    t = Trainer()\n    t.capture()\n    t.begin()\n    t.step()\n")


def test_an_optimizer_without_moments_may_be_made_anew() -> None:
    check_marks(PLAIN + "\ndef main():\n    t = Trainer()\n    t.capture()\n    t.begin()\n    t.step()\n")


def test_a_state_loaded_before_the_capture_or_by_a_method_that_nobody_calls() -> None:
    check_marks(
        ADAM
        + """

def main(state):
    trainer = Trainer()
    trainer.resume(state)
    trainer.capture()
    trainer.step()
"""
    )


def test_a_state_loaded_between_capture_and_replay() -> None:
    check_marks(
        ADAM
        + """

def main(state):
    trainer = Trainer()
    trainer.capture()
    trainer.optimizer.load_state_dict(state)  # expect: CG102
    trainer.step()
"""
    )
