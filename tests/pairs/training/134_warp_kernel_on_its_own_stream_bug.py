"""A Torch graph encloses a Warp launch. Warp issues it to its own stream, which takes no part in the
capture."""

import torch
import warp as wp


@wp.kernel
def spring(pos: wp.array(dtype=float), vel: wp.array(dtype=float), force: wp.array(dtype=float), dt: float):
    i = wp.tid()
    vel[i] = vel[i] + (force[i] - pos[i]) * dt
    pos[i] = pos[i] + vel[i] * dt


class Springs:
    def __init__(self, n, dt=0.01):
        self.n, self.dt = n, dt
        self.pos, self.vel, self.force = (torch.zeros(n, device="cuda") for _ in range(3))
        self.views = [wp.from_torch(t) for t in (self.pos, self.vel, self.force)]

    def advance(self):
        wp.launch(spring, dim=self.n, inputs=[*self.views, self.dt])  # HAZARD: stream-escape


class Loop:
    def __init__(self, system, gain):
        self.system, self.gain = system, gain
        self.graph = torch.cuda.CUDAGraph()

    def _tick(self):
        torch.mul(self.system.pos, -self.gain, out=self.system.force)
        self.system.advance()

    def record(self):
        self._tick()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self._tick()

    def run(self, steps):
        for _ in range(steps):
            self.graph.replay()
        return self.system.pos.clone()


def main():
    wp.init()
    loop = Loop(Springs(1024), 0.5)
    loop.record()
    return loop.run(100)
