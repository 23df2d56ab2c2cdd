"""Drawn from Warp examples whose frames are captured after they were written for plain launches.

Symptom: the capture fails with an error of a copy, or the cloth hangs where it was at the capture: the positions of the
anchors are made from a Python list inside of the simulated frame.
"""

import math

import numpy as np
import warp as wp


@wp.kernel
def pull(
    pos: wp.array(dtype=wp.vec3), force: wp.array(dtype=wp.vec3), anchors: wp.array(dtype=wp.vec3), k: float
):
    i = wp.tid()
    force[i] = (anchors[i % 2] - pos[i]) * k


@wp.kernel
def step_particles(
    pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), force: wp.array(dtype=wp.vec3), dt: float
):
    i = wp.tid()
    vel[i] = vel[i] * 0.99 + force[i] * dt
    pos[i] = pos[i] + vel[i] * dt


class Example:
    def __init__(self, resolution=32, fps=60, substeps=16):
        self.frame_dt = 1.0 / fps
        self.sim_substeps = substeps
        self.sim_dt = self.frame_dt / substeps
        self.sim_time = 0.0
        grid = np.stack(np.meshgrid(np.arange(resolution), np.arange(resolution), [0]), -1).reshape(-1, 3)
        self.pos = wp.array(grid.astype(np.float32), dtype=wp.vec3)
        self.vel = wp.zeros_like(self.pos)
        self.force = wp.zeros_like(self.pos)
        self.use_cuda_graph = wp.get_device().is_cuda
        if self.use_cuda_graph:
            with wp.ScopedCapture() as capture:
                self.simulate()
            self.graph = capture.graph

    def anchors(self):
        offset = math.sin(self.sim_time)
        return wp.array(
            [(0.0, 0.0, offset), (32.0, 0.0, -offset)], dtype=wp.vec3
        )  # HAZARD: pageable-copy, implicit-sync

    def simulate(self):
        anchors = self.anchors()  # ALT: pageable-copy, implicit-sync, alloc-in-capture
        for _ in range(self.sim_substeps):
            wp.launch(pull, dim=len(self.pos), inputs=[self.pos, self.force, anchors, 25.0])
            wp.launch(step_particles, dim=len(self.pos), inputs=[self.pos, self.vel, self.force, self.sim_dt])

    def step(self):
        with wp.ScopedTimer("step", active=False):
            if self.use_cuda_graph:
                wp.capture_launch(self.graph)
            else:
                self.simulate()
        self.sim_time += self.frame_dt


if __name__ == "__main__":
    example = Example()
    for _ in range(300):
        example.step()
