"""Source: cupy/cupy#6290 (cuRAND is not supported in captures).

Symptom: begin_capture() succeeds and the Langevin step then raises in the noise: CuPy's generator refuses to run while its
stream is capturing.
"""

import cupy as cp


class Langevin:
    def __init__(self, n, dim, dt=1e-3, temperature=1.0, seed=0):
        self.x = cp.zeros((n, dim), dtype=cp.float32)
        self.noise = cp.zeros((n, dim), dtype=cp.float32)
        self.rng = cp.random.default_rng(seed)
        self.dt = dt
        self.kick = (2.0 * temperature * dt) ** 0.5
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.graph = None

    def _force(self):
        return -self.x * (cp.sum(self.x * self.x, axis=1, keepdims=True) - 1.0)

    def _step(self):
        self.noise[...] = self.rng.standard_normal(
            self.noise.shape, dtype=cp.float32
        )  # HAZARD: implicit-sync
        self.x += self._force() * self.dt + self.noise * self.kick

    def record(self):
        with self.stream:
            self._step()
            self.stream.begin_capture()
            self._step()
            self.graph = self.stream.end_capture()

    def run(self, steps):
        with self.stream:
            for _ in range(steps):
                self.graph.launch()
        self.stream.synchronize()
        return cp.asnumpy(self.x)


def sample(n=4096, dim=2):
    dynamics = Langevin(n, dim)
    dynamics.record()
    return dynamics.run(10_000)
