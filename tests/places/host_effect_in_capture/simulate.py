"""A simulator that is paced by the host."""

import gc
import time

import torch


class Pacer:
    def __init__(self, rate: float):
        self.rate = rate

    def tick(self):
        time.sleep(1.0 / self.rate)  # expect: CG405

    def stamp(self):
        return time.monotonic()  # ok: CG405


class World:
    def __init__(self, bodies: int):
        self.state = torch.zeros(bodies, 6, device="cuda")
        self.pacer = Pacer(60.0)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(4):
                self.substep()

    def substep(self):
        self.state.mul_(0.99)
        self.pacer.tick()
        self.pacer.stamp()
        gc.collect(0)  # expect: CG405
        time.sleep(0)  # expect: CG405
        time.sleep(0.2)  # graphlint: ignore[CG405] -- a demonstration

    def run(self):
        self.graph.replay()
        return self.state.clone()
