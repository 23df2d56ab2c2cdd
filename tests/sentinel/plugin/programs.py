"""Tests that go right and wrong, as text."""

from __future__ import annotations

HELPERS = """\
import pytest, torch

class Engine:
    def __init__(self):
        self.x = torch.ones(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def go_wrong(self):
        self.x = self.x + 1
        self.graph.replay()

    def go_right(self):
        self.x.add_(1)
        self.graph.replay()
        assert self.y.tolist() == [4.0] * 4

def go_wrong(): Engine().go_wrong()
def go_right(): Engine().go_right()
"""
TWO = f"{HELPERS}\ndef test_wrong(): go_wrong()\ndef test_right(): go_right()\n"
