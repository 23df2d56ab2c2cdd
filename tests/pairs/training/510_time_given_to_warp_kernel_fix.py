"""Drawn from NVIDIA/warp examples with forces that depend on the time.

Fix: the time is an array with one element that a kernel of the graph moves on.
"""

import warp as wp


@wp.kernel
def clear(f: wp.array(dtype=wp.vec3)):
    f[wp.tid()] = wp.vec3(0.0, 0.0, 0.0)


@wp.kernel
def tick(time: wp.array(dtype=float), dt: float):
    time[0] = time[0] + dt


@wp.kernel
def wind(f: wp.array(dtype=wp.vec3), strength: float, time: wp.array(dtype=float)):
    tid = wp.tid()
    gust = strength * wp.sin(2.0 * time[0])
    f[tid] = f[tid] + wp.vec3(gust, 0.0, 0.0)


@wp.kernel
def integrate(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), dt: float):
    tid = wp.tid()
    v[tid] = v[tid] * 0.999 + f[tid] * dt
    x[tid] = x[tid] + v[tid] * dt


class Smoke:
    def __init__(self, particles: int = 4096, substeps: int = 8, fps: int = 60):
        self.n = particles
        self.substeps = substeps
        self.dt = 1.0 / (fps * substeps)
        self.x = wp.zeros(self.n, dtype=wp.vec3, device="cuda")
        self.v = wp.zeros(self.n, dtype=wp.vec3, device="cuda")
        self.f = wp.zeros(self.n, dtype=wp.vec3, device="cuda")
        self.time = wp.zeros(1, dtype=float, device="cuda")
        self.graph = None

    def simulate(self):
        for _ in range(self.substeps):
            wp.launch(clear, dim=self.n, inputs=[self.f], device="cuda")
            wp.launch(wind, dim=self.n, inputs=[self.f, 3.0, self.time], device="cuda")
            wp.launch(integrate, dim=self.n, inputs=[self.x, self.v, self.f, self.dt], device="cuda")
            wp.launch(tick, dim=1, inputs=[self.time, self.dt], device="cuda")

    def capture(self):
        wp.capture_begin(device="cuda")
        try:
            self.simulate()
        finally:
            self.graph = wp.capture_end(device="cuda")

    def step(self):
        if self.graph is None:
            self.capture()
        wp.capture_launch(self.graph)


def main(frames: int = 600):
    wp.init()
    smoke = Smoke()
    for _ in range(frames):
        smoke.step()
    return smoke.x.numpy()
