"""Clean: the time of a simulation lives in an array; substeps are an even number, so that the two states are back in
place when the graph ends, and the host counts frames for its own use only."""

import warp as wp


@wp.kernel
def advance(
    x0: wp.array(dtype=wp.vec3),
    v0: wp.array(dtype=wp.vec3),
    x1: wp.array(dtype=wp.vec3),
    v1: wp.array(dtype=wp.vec3),
    time: wp.array(dtype=float),
    dt: float,
):
    i = wp.tid()
    pull = wp.vec3(wp.sin(time[0]), -9.81, 0.0)
    v = v0[i] + pull * dt
    x = x0[i] + v * dt
    if x[1] < 0.0:
        x = wp.vec3(x[0], 0.0, x[2])
        v = wp.vec3(v[0], -0.5 * v[1], v[2])
    x1[i] = x
    v1[i] = v


@wp.kernel
def tick(time: wp.array(dtype=float), dt: float):
    time[0] = time[0] + dt


class State:
    def __init__(self, n):
        self.x = wp.zeros(n, dtype=wp.vec3, device="cuda")
        self.v = wp.zeros(n, dtype=wp.vec3, device="cuda")


class Balls:
    SUBSTEPS = 8

    def __init__(self, n=1024, fps=60):
        self.n = n
        self.dt = 1.0 / fps / self.SUBSTEPS
        self.now, self.next = State(n), State(n)
        self.time = wp.zeros(1, dtype=float, device="cuda")
        self.frames = 0
        with wp.ScopedCapture(device="cuda") as capture:
            self.simulate()
        self.graph = capture.graph

    def simulate(self):
        for _ in range(self.SUBSTEPS):
            wp.launch(
                advance,
                dim=self.n,
                inputs=[self.now.x, self.now.v, self.next.x, self.next.v, self.time, self.dt],
                device="cuda",
            )
            wp.launch(tick, dim=1, inputs=[self.time, self.dt], device="cuda")
            self.now, self.next = self.next, self.now

    def reset(self):
        self.now.x.zero_()
        self.now.v.zero_()
        self.time.zero_()
        self.frames = 0

    def frame(self):
        wp.capture_launch(self.graph)
        self.frames += 1
        if self.frames % 60 == 0:
            print(f"{self.frames // 60} s, highest {self.now.x.numpy()[:, 1].max():.2f}")
