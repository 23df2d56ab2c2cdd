"""Domain randomization gives every world its own friction by assigning a new array to the model after the
step was captured; the graph keeps reading the old one. (The documentation of MuJoCo Warp warns of it.)"""

import numpy as np
import warp as wp


@wp.kernel
def slide(vel: wp.array(dtype=float), friction: wp.array(dtype=float), dt: float):
    i = wp.tid()
    vel[i] = vel[i] * (1.0 - friction[i] * dt)


class Model:
    def __init__(self, worlds):
        self.worlds = worlds
        self.friction = wp.full(worlds, 0.5, dtype=float, device="cuda:0")


class Data:
    def __init__(self, model):
        self.vel = wp.zeros(model.worlds, dtype=float, device="cuda:0")


def step(model, data, dt):
    wp.launch(slide, dim=model.worlds, inputs=[data.vel, model.friction, dt], device="cuda:0")


class Randomizer:
    def __init__(self, model, seed=0):
        self.model = model
        self.rng = np.random.default_rng(seed)

    def apply(self):
        values = self.rng.uniform(0.2, 1.2, self.model.worlds).astype(np.float32)
        self.model.friction = wp.array(values, dtype=float, device="cuda:0")  # HAZARD: rebind-static-input


class Simulator:
    def __init__(self, worlds, dt=0.005, substeps=4):
        self.model = Model(worlds)
        self.data = Data(self.model)
        self.randomizer = Randomizer(self.model)
        wp.load_module(device="cuda:0")
        with wp.ScopedCapture(device="cuda:0") as capture:
            for _ in range(substeps):
                step(self.model, self.data, dt)
        self.graph = capture.graph

    def reset(self):
        self.data.vel.fill_(1.0)
        self.randomizer.apply()

    def run(self, frames):
        wp.capture_launch(self.graph)
        for _ in range(frames - 1):
            wp.capture_launch(self.graph)
        return self.data.vel.numpy()


def main(episodes):
    sim = Simulator(1024)
    for _ in range(episodes):
        sim.reset()
        print(sim.run(100).mean())
