"""Streams of a list: those that one loop forks are those that the next one waits for."""

from __future__ import annotations

from tests.programs import check_marked_rules

PROGRAM = """
import torch


class Builds:
    def __init__(self):
        self.sides = []
        self.other = []
        self.graph = torch.cuda.CUDAGraph()

    def build(self, groups: list[torch.Tensor]):
        while len(self.sides) < len(groups):
            self.sides.append(torch.cuda.Stream())
            self.other.append(torch.cuda.Stream())
        main = torch.cuda.current_stream()
        for side, group in zip(self.sides, groups):
            side.wait_stream(main)
            with torch.cuda.stream(side):
                group.add_(1)
        for side in self.{waited}[: len(groups)]:
            main.wait_stream(side)  # {mark}: CG507

    def capture(self, groups: list[torch.Tensor]):
        self.build(groups)
        with torch.cuda.graph(self.graph):
            self.build(groups)
"""


def test_the_streams_that_were_forked_are_waited_for() -> None:
    check_marked_rules(PROGRAM.format(waited="sides", mark="ok"))


def test_streams_of_another_list_are_outside() -> None:
    check_marked_rules(PROGRAM.format(waited="other", mark="expect"))
