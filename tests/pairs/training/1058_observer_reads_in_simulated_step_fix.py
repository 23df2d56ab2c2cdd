"""Source: isaac-sim/IsaacLab sensors on Newton, with observers called after every captured substep.

Fixed: observers are called after the launch.
"""

import warp as wp


@wp.kernel
def fall(pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    v = vel[i] + wp.vec3(0.0, 0.0, -9.81) * dt
    vel[i] = v
    pos[i] = pos[i] + v * dt


class HeightLog:
    def __init__(self):
        self.rows = []

    def notify(self, world):
        self.rows.append(world.pos.numpy()[:, 2].min())


class World:
    def __init__(self, n, substeps=4, dt=1.0 / 60.0):
        self.pos = wp.zeros(n, dtype=wp.vec3, device="cuda:0")
        self.vel = wp.zeros(n, dtype=wp.vec3, device="cuda:0")
        self.n, self.substeps, self.dt = n, substeps, dt / substeps
        self.observers = {}
        self.graph = None

    def add_observer(self, name, observer):
        self.observers[name] = observer

    def substep(self):
        wp.launch(fall, dim=self.n, inputs=[self.pos, self.vel, self.dt], device="cuda:0")

    def simulate(self):
        for _ in range(self.substeps):
            self.substep()

    def frame(self):
        if self.graph is None:
            wp.load_module(device="cuda:0")
            with wp.ScopedCapture(device="cuda:0") as capture:
                self.simulate()
            self.graph = capture.graph
        wp.capture_launch(self.graph)
        for observer in self.observers.values():
            observer.notify(self)


def main(frames=100):
    world = World(1024)
    world.add_observer("height", HeightLog())
    for _ in range(frames):
        world.frame()
    return world
