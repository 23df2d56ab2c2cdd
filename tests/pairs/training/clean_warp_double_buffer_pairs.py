"""Clean: a simulation with two state buffers captures an even number of substeps, so that the names are where they
were; parameters are written with `assign`, contact counts are read after the launch."""

import numpy as np
import warp as wp


@wp.kernel
def integrate(
    pos: wp.array(dtype=float),
    vel: wp.array(dtype=float),
    out: wp.array(dtype=float),
    gain: wp.array(dtype=float),
):
    i = wp.tid()
    vel[i] = vel[i] - gain[0] * pos[i]
    out[i] = pos[i] + 0.01 * vel[i]


class State:
    def __init__(self, n):
        self.pos = wp.zeros(n, dtype=float, device="cuda:0")


class Oscillators:
    def __init__(self, n, substeps=4):
        assert substeps % 2 == 0
        self.n, self.substeps = n, substeps
        self.now, self.next = State(n), State(n)
        self.vel = wp.full(n, 1.0, dtype=float, device="cuda:0")
        self.gain = wp.full(1, 2.0, dtype=float, device="cuda:0")
        self.graph = None

    def simulate(self):
        for _ in range(self.substeps):
            inputs = [self.now.pos, self.vel, self.next.pos, self.gain]
            wp.launch(integrate, dim=self.n, inputs=inputs, device="cuda:0")
            self.now, self.next = self.next, self.now

    def capture(self):
        wp.load_module(device="cuda:0")
        with wp.ScopedCapture(device="cuda:0") as capture:
            self.simulate()
        self.graph = capture.graph

    def set_gain(self, value):
        self.gain.assign(np.array([value], dtype=np.float32))

    def step(self):
        if self.graph is None:
            self.simulate()
        else:
            wp.capture_launch(self.graph)


def main(frames):
    system = Oscillators(256)
    system.capture()
    path = []
    for frame in range(frames):
        system.set_gain(2.0 + 0.1 * np.sin(frame))
        system.step()
        if frame % 60 == 0:
            path.append(system.now.pos.numpy().mean())
    return path
