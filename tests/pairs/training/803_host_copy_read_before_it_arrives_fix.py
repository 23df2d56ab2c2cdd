"""Drawn from NVIDIA/warp#653 (copying to the host as the last operation of a graph).

Fixed: the stream is waited for before the host looks at the array.
"""

from __future__ import annotations

import numpy as np
import warp as wp


@wp.kernel
def spring(
    pos: wp.array(dtype=wp.vec3), rest: wp.array(dtype=wp.vec3), k: float, out: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    out[i] = (rest[i] - pos[i]) * k


@wp.kernel
def integrate(
    pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), dt: float
):
    i = wp.tid()
    vel[i] = vel[i] + f[i] * dt
    pos[i] = pos[i] + vel[i] * dt


class SpringGrid:
    def __init__(self, points: np.ndarray, device: str = "cuda:0", dt: float = 0.005) -> None:
        self.n, self.dt, self.device = len(points), dt, device
        self.rest = wp.array(points, dtype=wp.vec3, device=device)
        self.pos = wp.clone(self.rest)
        self.vel = wp.zeros(self.n, dtype=wp.vec3, device=device)
        self.force = wp.zeros(self.n, dtype=wp.vec3, device=device)
        self.force_host = wp.zeros(self.n, dtype=wp.vec3, device="cpu", pinned=True)
        wp.load_module(device=device)
        with wp.ScopedCapture(device=device) as capture:
            self.simulate()
        self.graph = capture.graph

    def simulate(self, substeps: int = 8) -> None:
        for _ in range(substeps):
            wp.launch(spring, dim=self.n, inputs=[self.pos, self.rest, 40.0, self.force], device=self.device)
            wp.launch(
                integrate, dim=self.n, inputs=[self.pos, self.vel, self.force, self.dt], device=self.device
            )
        wp.copy(self.force_host, self.force)

    def step(self) -> np.ndarray:
        wp.capture_launch(self.graph)
        wp.synchronize_stream(self.device)
        return self.force_host.numpy()


def drive(points: np.ndarray, frames: int) -> list[float]:
    grid = SpringGrid(points)
    peaks = []
    for _ in range(frames):
        forces = grid.step()
        peaks.append(float(np.abs(forces).max()))
    return peaks
