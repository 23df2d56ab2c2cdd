"""Drawn from examples of NVIDIA/warp that wrap their steps in timers.

Fix: the timer goes around the launch of the graph, where waiting is allowed.
"""

import warp as wp


@wp.kernel
def integrate(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    inv_mass: wp.array(dtype=float),
    gravity: wp.vec3,
    dt: float,
):
    tid = wp.tid()
    w = inv_mass[tid]
    if w > 0.0:
        v[tid] = v[tid] + (f[tid] * w + gravity) * dt
        x[tid] = x[tid] + v[tid] * dt


@wp.kernel
def springs(
    x: wp.array(dtype=wp.vec3),
    pairs: wp.array(dtype=int, ndim=2),
    rest: wp.array(dtype=float),
    stiffness: float,
    f: wp.array(dtype=wp.vec3),
):
    tid = wp.tid()
    i = pairs[tid, 0]
    j = pairs[tid, 1]
    d = x[j] - x[i]
    length = wp.length(d)
    force = stiffness * (length - rest[tid]) * d / length
    wp.atomic_add(f, i, force)
    wp.atomic_sub(f, j, force)


class Cloth:
    def __init__(self, points, pairs, lengths, substeps: int = 16, fps: int = 60):
        self.n = len(points)
        self.edges = len(pairs)
        self.x = wp.array(points, dtype=wp.vec3, device="cuda")
        self.v = wp.zeros(self.n, dtype=wp.vec3, device="cuda")
        self.f = wp.zeros(self.n, dtype=wp.vec3, device="cuda")
        self.inv_mass = wp.full(self.n, 1.0, dtype=float, device="cuda")
        self.pairs = wp.array(pairs, dtype=int, device="cuda")
        self.rest = wp.array(lengths, dtype=float, device="cuda")
        self.substeps = substeps
        self.dt = 1.0 / (fps * substeps)
        self.profile = True

    def _substep(self):
        self.f.zero_()
        wp.launch(springs, self.edges, [self.x, self.pairs, self.rest, 1.0e4, self.f], device="cuda")
        wp.launch(
            integrate,
            self.n,
            [self.x, self.v, self.f, self.inv_mass, wp.vec3(0.0, -9.8, 0.0), self.dt],
            device="cuda",
        )

    def simulate(self):
        for _ in range(self.substeps):
            self._substep()

    def capture(self):
        wp.load_module(device="cuda")
        with wp.ScopedCapture(device="cuda") as capture:
            self.simulate()
        self.graph = capture.graph

    def frame(self):
        with wp.ScopedTimer("simulate", active=self.profile, synchronize=True):
            wp.capture_launch(self.graph)


def main(points, pairs, lengths, frames: int = 300):
    wp.init()
    cloth = Cloth(points, pairs, lengths)
    cloth.capture()
    for _ in range(frames):
        cloth.frame()
    return cloth.x.numpy()
