"""Two states are swapped after every frame in Python, while the graph goes on reading the first and writing
the second."""

import warp as wp


@wp.struct
class Params:
    gravity: float


@wp.kernel
def advance(src: wp.array(dtype=float), dst: wp.array(dtype=float), dt: float):
    i = wp.tid()
    dst[i] = src[i] * (1.0 - dt)


class State:
    def __init__(self, n):
        self.heat = wp.ones(n, dtype=float, device="cuda:0")


class Solver:
    def __init__(self, n):
        self.n = n
        self.state_0 = State(n)
        self.state_1 = State(n)
        self.graph = None

    def substep(self):
        wp.launch(advance, dim=self.n, inputs=[self.state_0.heat, self.state_1.heat, 0.01], device="cuda:0")

    def step(self):
        if self.graph is None:
            wp.load_module(device="cuda:0")
            with wp.ScopedCapture(device="cuda:0") as capture:
                self.substep()
            self.graph = capture.graph
        wp.capture_launch(self.graph)
        self.state_0, self.state_1 = self.state_1, self.state_0  # HAZARD: rebind-static-input


def main(frames):
    solver = Solver(4096)
    for _ in range(frames):
        solver.step()
    return solver.state_0.heat.numpy()
