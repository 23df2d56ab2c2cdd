"""Clean: a Warp simulation that gives its graph up when the scene changes, reads arrays on the host after a wait only
and hands new wind to the arrays that are recorded."""

from __future__ import annotations

import numpy as np
import warp as wp


@wp.kernel
def blow(vel: wp.array(dtype=wp.vec3), wind: wp.array(dtype=wp.vec3), drag: float, dt: float):
    i = wp.tid()
    vel[i] = vel[i] + (wind[0] - vel[i]) * drag * dt


@wp.kernel
def move(pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    pos[i] = pos[i] + vel[i] * dt


class Particles:
    def __init__(
        self, points: np.ndarray, device="cuda:0", drag: float = 0.4, dt: float = 1.0 / 240.0
    ) -> None:
        self.device, self.drag, self.dt = wp.get_device(device), drag, dt
        self.wind = wp.zeros(1, dtype=wp.vec3, device=self.device)
        self.graph = None
        self.load(points)

    def load(self, points: np.ndarray) -> None:
        self.n = len(points)
        self.pos = wp.array(points, dtype=wp.vec3, device=self.device)
        self.vel = wp.zeros(self.n, dtype=wp.vec3, device=self.device)
        self.graph = None

    def set_wind(self, wind: tuple[float, float, float]) -> None:
        self.wind.assign([wind])

    def set_drag(self, drag: float) -> None:
        if drag != self.drag:
            self.drag = drag
            self.graph = None

    def simulate(self) -> None:
        for _ in range(4):
            wp.launch(blow, dim=self.n, inputs=[self.vel, self.wind, self.drag, self.dt], device=self.device)
            wp.launch(move, dim=self.n, inputs=[self.pos, self.vel, self.dt], device=self.device)

    def step(self) -> None:
        if not self.device.is_cuda:
            self.simulate()
            return
        if self.graph is None:
            wp.load_module(device=self.device)
            with wp.ScopedCapture(device=self.device) as capture:
                self.simulate()
            self.graph = capture.graph
        wp.capture_launch(self.graph)

    def positions(self) -> np.ndarray:
        wp.synchronize_device(self.device)
        return self.pos.numpy()


def run(scenes: list[np.ndarray], frames: int) -> list[np.ndarray]:
    particles = Particles(scenes[0])
    last = []
    for number, points in enumerate(scenes):
        particles.load(points)
        particles.set_drag(0.2 + 0.1 * number)
        for frame in range(frames):
            particles.set_wind((1.0 + 0.01 * frame, 0.0, 0.0))
            particles.step()
        last.append(particles.positions())
    return last
