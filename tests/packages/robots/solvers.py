from __future__ import annotations

from abc import ABC, abstractmethod

import torch

from .config import SimCfg
from .state import Control, State

SOLVERS: dict[str, type[SolverBase]] = {}


class SolverBase(ABC):
    name = ""

    def __init_subclass__(cls, **kwargs) -> None:
        super().__init_subclass__(**kwargs)
        SOLVERS[cls.name] = cls

    def __init__(self, cfg: SimCfg, device: str) -> None:
        self.cfg = cfg
        self.gravity = torch.full((1,), cfg.gravity, device=device)

    @abstractmethod
    def step(self, before: State, after: State, control: Control, dt: float) -> None: ...


class PenaltySolver(SolverBase):
    name = "penalty"

    def __init__(self, cfg: SimCfg, device: str) -> None:
        super().__init__(cfg, device)
        self.stiffness = torch.full((cfg.num_joints,), 40.0, device=device)
        self.damping = torch.full((cfg.num_joints,), 2.0, device=device)
        self.energy = torch.zeros(cfg.num_envs, device=device)

    def step(self, before, after, control, dt):
        error = control.targets - before.joint_pos
        torque = self.stiffness * error - self.damping * before.joint_vel
        torch.add(before.joint_vel, torque, alpha=dt, out=after.joint_vel)
        torch.add(before.joint_pos, after.joint_vel, alpha=dt, out=after.joint_pos)
        fall = before.root_height + self.gravity * dt * dt
        after.root_height.copy_(torch.clamp(fall, min=0.2))
        self.energy.copy_(after.joint_vel.square().sum(-1))
        if self.cfg.report_energy:
            self._report()

    def _report(self) -> None:
        pass
