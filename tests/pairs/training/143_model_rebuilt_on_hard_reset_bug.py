"""A hard reset builds the model's arrays again, while the graph of the solver keeps those of the first build.
(Compare isaac-sim/IsaacLab#6483.)"""

import warp as wp


@wp.kernel
def fall(pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), mass: wp.array(dtype=float), dt: float):
    i = wp.tid()
    vel[i] = vel[i] + wp.vec3(0.0, -9.81, 0.0) * dt / mass[i]
    pos[i] = pos[i] + vel[i] * dt


class Builder:
    def __init__(self):
        self.masses = []

    def add_body(self, mass):
        self.masses.append(mass)

    def finalize(self):
        return Model(self.masses)


class Model:
    def __init__(self, masses):
        self.count = len(masses)
        self.mass = wp.array(masses, dtype=float, device="cuda:0")
        self.pos = wp.zeros(self.count, dtype=wp.vec3, device="cuda:0")
        self.vel = wp.zeros(self.count, dtype=wp.vec3, device="cuda:0")


class Manager:
    def __init__(self, builder, substeps=4, dt=0.005):
        self.builder, self.substeps, self.dt = builder, substeps, dt
        self.model = builder.finalize()
        self.graph = None

    def _simulate(self):
        for _ in range(self.substeps):
            m = self.model
            wp.launch(fall, dim=m.count, inputs=[m.pos, m.vel, m.mass, self.dt], device="cuda:0")

    def _ensure_graph(self):
        if self.graph is None:
            wp.load_module(device="cuda:0")
            with wp.ScopedCapture(device="cuda:0") as capture:
                self._simulate()
            self.graph = capture.graph

    def reset(self, soft=True):
        if soft:
            self.model.pos.zero_()
            self.model.vel.zero_()
        else:
            self.model = self.builder.finalize()  # HAZARD: rebind-static-input

    def step(self):
        self._ensure_graph()
        wp.capture_launch(self.graph)


def main(episodes, frames):
    builder = Builder()
    for index in range(16):
        builder.add_body(1.0 + index)
    manager = Manager(builder)
    for episode in range(episodes):
        for _ in range(frames):
            manager.step()
        manager.reset(soft=episode % 10 != 9)
    return manager.model.pos.numpy()
