"""Loops of what happened before the first call are no steps of the program."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules as check

PROGRAM = """
import torch
from plugins import entry_points

class Provider:
    def __init__(self, name, modules):
        self.name, self.modules = name, modules

def discover():
    found = []
    for point in entry_points():
        found.append(Provider(point.name, frozenset(point.modules)))
    return tuple(found)

FOUND = discover()

class Step:
    def __init__(self):
        self.x = torch.zeros(8, device="cuda")
        self.graph = None

    def run(self, wanted: Provider):
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                for provider in {providers}:
                    if "mul" in provider.modules:  # {mark}: CG402
                        self.x.mul_(2)
        self.graph.replay()
        return self.x.clone()

def serve(step: Step, requests):
    for request in requests:
        step.run(Provider(request.name, frozenset(request.modules)))
"""


@pytest.mark.parametrize(("providers", "mark"), [("FOUND", "ok"), ("[wanted]", "expect")])
def test_what_the_body_of_a_module_has_found_stays(providers: str, mark: str) -> None:
    check(PROGRAM.format(providers=providers, mark=mark))
