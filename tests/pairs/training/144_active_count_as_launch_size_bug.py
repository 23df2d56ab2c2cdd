"""Particles are added while the simulation runs. The number of active ones is the size of the captured launch,
which stays that of the capture."""

import warp as wp


@wp.kernel
def drift(pos: wp.array(dtype=float), vel: wp.array(dtype=float), dt: float):
    i = wp.tid()
    pos[i] = pos[i] + vel[i] * dt


@wp.kernel
def drift_active(
    pos: wp.array(dtype=float), vel: wp.array(dtype=float), active: wp.array(dtype=int), dt: float
):
    i = wp.tid()
    if i < active[0]:
        pos[i] = pos[i] + vel[i] * dt


class Emitter:
    def __init__(self, particles, rate):
        self.particles, self.rate = particles, rate

    def emit(self):
        self.particles.grow(self.rate)


class Particles:
    def __init__(self, most):
        self.most, self.active = most, 16
        self.pos = wp.zeros(most, dtype=float, device="cuda:0")
        self.vel = wp.full(most, 1.0, dtype=float, device="cuda:0")

    def grow(self, more):
        self.active = min(self.most, self.active + more)  # ALT: frozen-scalar

    def advance(self, dt):
        wp.launch(
            drift, dim=self.active, inputs=[self.pos, self.vel, dt], device="cuda:0"
        )  # HAZARD: frozen-scalar


class Scene:
    def __init__(self, most=4096, rate=8, dt=0.01):
        self.particles = Particles(most)
        self.emitter = Emitter(self.particles, rate)
        wp.load_module(device="cuda:0")
        with wp.ScopedCapture(device="cuda:0") as capture:
            self.particles.advance(dt)
        self.graph = capture.graph

    def frame(self):
        self.emitter.emit()
        wp.capture_launch(self.graph)


def main(frames):
    scene = Scene()
    for _ in range(frames):
        scene.frame()
    return scene.particles.pos.numpy()
