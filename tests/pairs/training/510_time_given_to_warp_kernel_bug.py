"""Drawn from NVIDIA/warp examples with forces that depend on the time.

Symptom: the wind does not change in the captured simulation: its kernel gets the time as a Python number, which is
counted on while the graph is recorded and never again.
"""

import warp as wp


@wp.kernel
def clear(f: wp.array(dtype=wp.vec3)):
    f[wp.tid()] = wp.vec3(0.0, 0.0, 0.0)


@wp.kernel
def wind(f: wp.array(dtype=wp.vec3), strength: float, time: float):
    tid = wp.tid()
    gust = strength * wp.sin(2.0 * time)
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
        self.time = 0.0
        self.graph = None

    def simulate(self):
        for _ in range(self.substeps):
            wp.launch(clear, dim=self.n, inputs=[self.f], device="cuda")
            wp.launch(wind, dim=self.n, inputs=[self.f, 3.0, self.time], device="cuda")  # ALT: frozen-scalar
            wp.launch(integrate, dim=self.n, inputs=[self.x, self.v, self.f, self.dt], device="cuda")
            self.time += self.dt  # HAZARD: side-effect, frozen-scalar

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
