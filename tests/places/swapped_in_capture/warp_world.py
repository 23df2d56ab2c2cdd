"""Simulators in Warp."""

import warp as wp
from state import Pair


class World:
    def __init__(self, model, solver):
        self.model, self.solver = model, solver
        self.pair = Pair(model)
        with wp.ScopedCapture() as capture:
            for _ in range(3):
                self.solver.step(self.pair.front, self.pair.rear)
                self.pair.flip()
        self.graph = capture.graph

    def run(self, frames: int):
        for _ in range(frames):
            wp.capture_launch(self.graph)


class Cloth:
    def __init__(self, model, solver):
        self.solver = solver
        self.now, self.next = model.state(), model.state()
        with wp.ScopedCapture() as capture:
            self.substep()
        self.graph = capture.graph

    def substep(self):
        self.solver.step(self.now, self.next)
        self.now, self.next = self.next, self.now  # expect: CG106

    def render(self, frames: int):
        for _ in range(frames):
            wp.capture_launch(self.graph)


class EvenCloth:
    def __init__(self, model, solver):
        self.solver = solver
        self.now, self.next = model.state(), model.state()
        with wp.ScopedCapture() as capture:
            for _ in range(8):
                self.solver.step(self.now, self.next)
                self.now, self.next = self.next, self.now  # ok: CG106
        self.graph = capture.graph

    def render(self, frames: int):
        for _ in range(frames):
            wp.capture_launch(self.graph)
