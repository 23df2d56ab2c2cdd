"""Drawn from robot learning on Newton and Warp (compare the answers in NVIDIA/warp#653).

Symptom: the controller computes its targets in NumPy and assigns them to the device array within
the captured frame: a copy from pageable memory, made once at best.
"""

import numpy as np
import warp as wp


@wp.kernel
def drive(target: wp.array(dtype=float), q: wp.array(dtype=float), qd: wp.array(dtype=float), dt: float):
    i = wp.tid()
    qd[i] = qd[i] + (target[i] - q[i]) * dt
    q[i] = q[i] + qd[i] * dt


class Gait:
    def __init__(self, joints: int, period: float):
        self.phase = np.linspace(0.0, 2.0 * np.pi, joints, dtype=np.float32)
        self.period = period
        self.time = 0.0

    def advance(self, dt: float) -> np.ndarray:
        self.time += dt
        return np.sin(self.phase + 2.0 * np.pi * self.time / self.period).astype(np.float32)


class Robot:
    def __init__(self, joints: int, substeps: int = 4):
        self.joints, self.substeps, self.dt = joints, substeps, 1.0 / 240.0
        self.gait = Gait(joints, 0.8)
        self.target = wp.zeros(joints, dtype=float, device="cuda:0")
        self.q = wp.zeros(joints, dtype=float, device="cuda:0")
        self.qd = wp.zeros(joints, dtype=float, device="cuda:0")
        self.graph = None

    def control(self) -> None:
        self.target.assign(self.gait.advance(self.dt * self.substeps))

    def frame(self) -> None:
        for _ in range(self.substeps):
            wp.launch(drive, dim=self.joints, inputs=[self.target, self.q, self.qd, self.dt])

    def build(self) -> None:
        wp.load_module(device="cuda:0")
        with wp.ScopedCapture(device="cuda:0") as capture:
            self.frame()
        self.graph = capture.graph

    def run(self, frames: int) -> np.ndarray:
        self.build()
        for _ in range(frames):
            self.control()
            wp.capture_launch(self.graph)
        return self.q.numpy()
