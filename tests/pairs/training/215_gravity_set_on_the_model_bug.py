"""Drawn from randomization in Isaac Lab and Newton (model numbers that users set between steps).

Symptom: gravity is a Python number of the model which the launch takes as an argument; setting it after
the capture changes nothing in the replays.
"""

from dataclasses import dataclass

import warp as wp


@wp.kernel
def fall(q: wp.array(dtype=float), qd: wp.array(dtype=float), gravity: float, dt: float):
    i = wp.tid()
    qd[i] = qd[i] + gravity * dt
    q[i] = q[i] + qd[i] * dt


@wp.kernel
def fall_by(q: wp.array(dtype=float), qd: wp.array(dtype=float), gravity: wp.array(dtype=float), dt: float):
    i = wp.tid()
    qd[i] = qd[i] + gravity[0] * dt
    q[i] = q[i] + qd[i] * dt


@dataclass
class Model:
    bodies: int
    gravity: float = -9.81
    dt: float = 1.0 / 60.0


class World:
    def __init__(self, bodies: int):
        self.model = Model(bodies)
        self.q = wp.zeros(bodies, dtype=float, device="cuda:0")
        self.qd = wp.zeros(bodies, dtype=float, device="cuda:0")
        wp.load_module(device="cuda:0")
        with wp.ScopedCapture(device="cuda:0") as capture:
            self._substep()
        self.graph = capture.graph

    def _substep(self) -> None:
        numbers = (self.model.gravity, self.model.dt)
        wp.launch(fall, dim=self.model.bodies, inputs=[self.q, self.qd, *numbers])  # HAZARD: frozen-scalar

    def set_gravity(self, value: float) -> None:
        self.model.gravity = value  # ALT: frozen-scalar

    def step(self) -> None:
        wp.capture_launch(self.graph)
