"""The time step is adapted between frames, but the captured launch took the float of the first frame."""

import warp as wp


@wp.kernel
def integrate(x: wp.array(dtype=float), v: wp.array(dtype=float), dt: float):
    i = wp.tid()
    x[i] = x[i] + v[i] * dt


class Example:
    def __init__(self, n, fps=60):
        self.n = n
        self.dt = 1.0 / fps
        self.x = wp.zeros(n, dtype=float, device="cuda")
        self.v = wp.ones(n, dtype=float, device="cuda")
        self.graph = None
        self.capture()

    def simulate(self):
        inputs = [self.x, self.v, self.dt]
        wp.launch(integrate, dim=self.n, inputs=inputs, device="cuda")  # HAZARD: frozen-scalar

    def capture(self):
        wp.load_module(device="cuda")
        with wp.ScopedCapture(device="cuda") as capture:
            self.simulate()
        self.graph = capture.graph

    def slow_down(self, factor):
        self.dt = self.dt * factor  # ALT: frozen-scalar

    def step(self):
        if self.graph:
            wp.capture_launch(self.graph)
        else:
            self.simulate()


def main(frames):
    example = Example(256)
    for frame in range(frames):
        if frame % 100 == 99:
            example.slow_down(0.5)
        example.step()
    return example.x.numpy()
