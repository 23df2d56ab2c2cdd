"""Counters that any part of a program may move on."""


class Statistics:
    def __init__(self):
        self.calls = 0
        self.resets = 0
        self.shapes = []

    def count(self):
        self.calls += 1  # expect: CG403

    def reset(self):
        self.resets += 1  # ok: CG403
