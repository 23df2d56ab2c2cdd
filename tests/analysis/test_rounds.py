"""What a program does round after round: guards that a capture has settled, phases, flags, resets."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

LEARNER = """\
import torch


class Learner:
    def __init__(self, rows):
        self.rows = rows
        self.filled = 0
        self.graph = None

    def add(self, batch):
        self.filled = min(self.filled + batch.shape[0], 100)
        {refresh}

    def draw(self):
        return self.rows[{rows}] * 2.0{mark}

    def update(self):
        if self.graph is None:
            self.draw()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.draw()
        self.graph.replay()


def main(source, rounds, start):
    learner = Learner(torch.zeros(100, 4, device="cuda"))
    limit = torch.zeros((), device="cuda")
    for step in range(rounds):
        learner.add(source.next())
        if step >= start:
            learner.update()
"""


def test_a_graph_captured_under_a_counter_is_found_by_the_next_round() -> None:
    check_marks(LEARNER.format(refresh="pass", rows=": self.filled", mark="  # expect: CG402"))


def test_what_no_round_changes_is_no_finding() -> None:
    check_marks(LEARNER.format(refresh="pass", rows=":50", mark=""))


def test_steps_before_the_capture_do_not_come_after_it() -> None:
    check_marks("""\
import torch


class Trainer:
    def __init__(self, net: torch.nn.Module, warm):
        self.net, self.warm = net.cuda(), warm
        self.x = torch.zeros(4, 4, device="cuda")
        self.graph = None

    def grads(self):
        for p in self.net.parameters():
            p.grad = None
        loss = self.net(self.x).mean()
        loss.backward()
        return loss

    def step(self, index):
        if index < self.warm:
            return self.grads()
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.loss = self.grads()
        self.graph.replay()
        return self.loss.clone()


def main(net, loader):
    trainer = Trainer(net, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for index, x in enumerate(loader):
        trainer.x.copy_(x)
        trainer.step(index)
        opt.step()
""")


LATE = """\
import torch


class Run:
    def __init__(self):
        self.wide = False
        self.x = torch.zeros(4, device="cuda")
        self.graph = None

    def body(self):
        y = self.x * 2
        if self.wide:{mark}
            y = y + self.x.sum()
        return y

    def begin(self, epoch, last):
        if epoch == last:
            self.widen()

    def widen(self):
        self.wide = True
        {reset}

    def fit(self, epochs, loader):
        for epoch in range(epochs):
            self.begin(epoch, epochs - 5)
            for x in loader:
                self.x.copy_(x)
                if self.graph is None:
                    self.body()
                    self.graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(self.graph):
                        self.y = self.body()
                self.graph.replay()


def main(loader, epochs):
    Run().fit(epochs, loader)
"""


def test_a_flag_that_a_later_epoch_sets_is_frozen() -> None:
    check_marks(LATE.format(mark="  # expect: CG402", reset="pass"))


def test_a_flag_set_together_with_a_reset_is_for_the_next_capture() -> None:
    check_marks(LATE.format(mark="", reset="self.graph = None"))


def test_a_list_in_captured_code_is_made_of_every_element() -> None:
    check_marks("""\
import torch


class Sizes:
    def __init__(self):
        self.known = {}

    def of(self, tensors):
        key = tuple(tuple(t.shape[-2:]) for t in tensors)
        if key not in self.known:
            self.known[key] = torch.tensor([4.0], device="cuda")
        return self.known[key]


def main(width):
    sizes = Sizes()
    levels = [torch.zeros(2, width, s, s, device="cuda") for s in (8, 4, 2)]
    sizes.of(levels)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        area = sizes.of(levels) * 2
    graph.replay()
    return area
""")


TRAINING = """\
import random

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        if self.training and random.random() < 0.5:{mark}
            return x
        return self.inner(x)


def main():
    net = Net().cuda()
    x = torch.zeros(4, 4, device="cuda")
    net(x).mean(){backward}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x).mean()
    return graph, x, y
"""


def test_a_program_that_runs_backward_is_in_training_mode() -> None:
    check_marks(TRAINING.format(backward=".backward()", mark="  # expect: CG404"))


def test_training_is_a_mode_like_others_elsewhere() -> None:
    check_marks(TRAINING.format(backward="", mark=""))


COUNTED = """\
import torch


class Learner:
    def __init__(self):
        self.count = 0
        self.x = torch.zeros(4, device="cuda")
        self.graph = None

    def body(self):
        y = self.x + 1.0
        if {test}:{mark}
            y = y * 0.5
        return y

    def step(self):
        self.count += 1
        if self.graph is None:
            self.body()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.body()
        self.graph.replay()


def main(rounds):
    learner = Learner()
    for _ in range(rounds):
        learner.step()
"""


@pytest.mark.parametrize("test", ["self.count % 2 == 0", "self.count < 10", "10 >= self.count"])
def test_a_counter_that_will_answer_otherwise_is_frozen(test: str) -> None:
    check_marks(COUNTED.format(test=test, mark="  # expect: CG402"))


@pytest.mark.parametrize("test", ["self.count > 0", "self.count == 0", "0 < self.count"])
def test_a_counter_that_answers_the_same_for_good_is_not(test: str) -> None:
    check_marks(COUNTED.format(test=test, mark=""))


def test_graphs_kept_by_an_unknown_length_are_chosen_by_it() -> None:
    check_marks("""\
import torch


class Roller:
    def __init__(self, table):
        self.table = table
        self.x = torch.zeros(4, device="cuda")

    def roll(self, length):
        y = self.x
        for _ in range(length):
            y = y * 0.9
        return y

    def record(self, length):
        self.roll(length)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.roll(length)
        return graph

    def __call__(self, length):
        if length not in self.table:
            self.table[length] = self.record(length)
        self.table[length].replay()


def main(lengths):
    roller = Roller({})
    for length in lengths:
        roller(length)
""")
