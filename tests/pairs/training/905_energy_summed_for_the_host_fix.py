"""Drawn from Warp solvers that scale their step by a sum (compare google-deepmind/mujoco_warp#17 on hidden reads).

Fixed: the sum stays in an array, and the kernel computes the factor.
"""

from __future__ import annotations

import warp as wp
import warp.utils


@wp.kernel
def kinetic(vel: wp.array(dtype=wp.vec3), mass: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 0.5 * mass[i] * wp.dot(vel[i], vel[i])


@wp.kernel
def rescale(vel: wp.array(dtype=wp.vec3), total: wp.array(dtype=float), target: float):
    i = wp.tid()
    vel[i] = vel[i] * wp.sqrt(target / (total[0] + 1.0e-6))


@wp.kernel
def drift(pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    pos[i] = pos[i] + vel[i] * dt


class Thermostat:
    def __init__(self, count: int, target: float) -> None:
        self.target = target
        self.total = wp.zeros(1, dtype=float, device="cuda")
        self.energy = wp.zeros(count, dtype=float, device="cuda")

    def apply(self, vel: wp.array, mass: wp.array) -> None:
        wp.launch(kinetic, dim=len(vel), inputs=[vel, mass, self.energy], device="cuda")
        warp.utils.array_sum(self.energy, out=self.total)
        wp.launch(rescale, dim=len(vel), inputs=[vel, self.total, self.target], device="cuda")


class Gas:
    def __init__(self, count: int, dt: float = 1e-3) -> None:
        self.count, self.dt = count, dt
        self.pos = wp.zeros(count, dtype=wp.vec3, device="cuda")
        self.vel = wp.zeros(count, dtype=wp.vec3, device="cuda")
        self.mass = wp.ones(count, dtype=float, device="cuda")
        self.thermostat = Thermostat(count, target=1.5 * count)
        wp.load_module(device="cuda")
        wp.capture_begin(device="cuda")
        try:
            self._advance()
        finally:
            self.graph = wp.capture_end(device="cuda")

    def _advance(self) -> None:
        self.thermostat.apply(self.vel, self.mass)
        wp.launch(drift, dim=self.count, inputs=[self.pos, self.vel, self.dt], device="cuda")

    def run(self, steps: int) -> None:
        for _ in range(steps):
            wp.capture_launch(self.graph)


def main() -> None:
    gas = Gas(4096)
    gas.run(1000)
