"""Drawn from environments on Newton whose actions come from torch (compare isaac-sim/IsaacLab managers).

Symptom: the robot repeats the first command forever: each step wraps the actions of the policy and puts the wrapped
array into the control object, while the graph reads the array that was there at the capture.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import warp as wp


@wp.kernel
def actuate(q: wp.array(dtype=float), qd: wp.array(dtype=float), tau: wp.array(dtype=float), dt: float):
    i = wp.tid()
    qd[i] = qd[i] + (tau[i] - 0.2 * qd[i]) * dt
    q[i] = q[i] + qd[i] * dt


@dataclass
class Control:
    joint_f: wp.array = None


@dataclass
class State:
    q: wp.array
    qd: wp.array
    extras: dict = field(default_factory=dict)


class Solver:
    def __init__(self, count: int, dt: float) -> None:
        self.count, self.dt = count, dt

    def step(self, state: State, control: Control) -> None:
        wp.launch(actuate, dim=self.count, inputs=[state.q, state.qd, control.joint_f, self.dt])


class ReachEnv:
    def __init__(self, envs: int, joints: int, decimation: int = 4) -> None:
        self.shape = (envs, joints)
        n = envs * joints
        self.solver = Solver(n, 1.0 / 240.0)
        self.state = State(wp.zeros(n, dtype=float, device="cuda"), wp.zeros(n, dtype=float, device="cuda"))
        self.control = Control(wp.zeros(n, dtype=float, device="cuda"))
        self.decimation = decimation
        self.graph = None

    def _physics(self) -> None:
        for _ in range(self.decimation):
            self.solver.step(self.state, self.control)

    def reset(self) -> torch.Tensor:
        self.state.q.zero_()
        self.state.qd.zero_()
        if self.graph is None:
            wp.load_module(device="cuda")
            with wp.ScopedCapture() as capture:
                self._physics()
            self.graph = capture.graph
        return self.observe()

    def observe(self) -> torch.Tensor:
        q, qd = wp.to_torch(self.state.q), wp.to_torch(self.state.qd)
        return torch.cat([q.view(self.shape), qd.view(self.shape)], dim=1)

    def step(self, actions: torch.Tensor) -> torch.Tensor:
        flat = actions.clamp(-1.0, 1.0).reshape(-1).contiguous()
        self.control.joint_f = wp.from_torch(flat)  # HAZARD: rebind-static-input
        wp.capture_launch(self.graph)
        return self.observe()


def rollout(policy, steps: int = 200) -> torch.Tensor:
    env = ReachEnv(1024, 7)
    obs = env.reset()
    total = torch.zeros((), device="cuda")
    for _ in range(steps):
        obs = env.step(policy(obs))
        total += obs.square().mean()
    return total
