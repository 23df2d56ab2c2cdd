"""Source: google-deepmind/mujoco#2990 and mjlab (model fields given a batch dimension).

Fixed: the step is captured again after the model's fields were replaced.
"""

import numpy as np
import warp as wp


@wp.kernel
def integrate(
    gravity: wp.array(dtype=wp.vec3), damping: wp.array(dtype=float), vel: wp.array(dtype=wp.vec3), dt: float
):
    i = wp.tid()
    g = gravity[i % gravity.shape[0]]
    vel[i] = (vel[i] + g * dt) * (1.0 - damping[i % damping.shape[0]] * dt)


class Model:
    def __init__(self):
        self.gravity = wp.array([wp.vec3(0.0, 0.0, -9.81)], dtype=wp.vec3, device="cuda:0")
        self.damping = wp.array([0.1], dtype=float, device="cuda:0")


class Simulation:
    def __init__(self, model, num_worlds, dt=0.002):
        self.model, self.num_worlds, self.dt = model, num_worlds, dt
        self.vel = wp.zeros(num_worlds, dtype=wp.vec3, device="cuda:0")
        self.graph = None
        wp.load_module(device="cuda:0")
        self.create_graph()

    def create_graph(self):
        with wp.ScopedCapture(device="cuda:0") as capture:
            wp.launch(
                integrate,
                dim=self.num_worlds,
                inputs=[self.model.gravity, self.model.damping, self.vel, self.dt],
                device="cuda:0",
            )
        self.graph = capture.graph

    def expand_model_fields(self, fields):
        for name in fields:
            shared = getattr(self.model, name)
            tiled = np.repeat(shared.numpy(), self.num_worlds, axis=0)
            setattr(self.model, name, wp.array(tiled, dtype=shared.dtype, device="cuda:0"))
        self.create_graph()

    def step(self):
        wp.capture_launch(self.graph)


def make_env(num_worlds):
    sim = Simulation(Model(), num_worlds)
    sim.expand_model_fields(["gravity", "damping"])
    noise = np.random.uniform(0.8, 1.2, num_worlds)
    sim.model.damping.assign(sim.model.damping.numpy() * noise)
    for _ in range(100):
        sim.step()
    return sim
