from __future__ import annotations

from dataclasses import dataclass

import torch

from .config import SimCfg


@dataclass
class State:
    joint_pos: torch.Tensor
    joint_vel: torch.Tensor
    root_height: torch.Tensor

    @classmethod
    def zeros(cls, cfg: SimCfg, device: str) -> State:
        shape = (cfg.num_envs, cfg.num_joints)
        return cls(
            joint_pos=torch.zeros(shape, device=device),
            joint_vel=torch.zeros(shape, device=device),
            root_height=torch.ones(cfg.num_envs, device=device),
        )

    def assign(self, other: State) -> None:
        self.joint_pos.copy_(other.joint_pos)
        self.joint_vel.copy_(other.joint_vel)
        self.root_height.copy_(other.root_height)


@dataclass
class Control:
    targets: torch.Tensor

    def clear(self) -> None:
        self.targets.zero_()
