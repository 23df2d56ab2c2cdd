from __future__ import annotations

import torch


def joint_positions(env) -> torch.Tensor:
    return env.sim.state_0.joint_pos


def joint_velocities(env, scale: float = 1.0) -> torch.Tensor:
    return env.sim.state_0.joint_vel * scale


def commands(env) -> torch.Tensor:
    return env.commands.value


def height_reward(env, target: float = 0.8) -> torch.Tensor:
    return torch.exp(-(env.sim.state_0.root_height - target).square())


def effort_penalty(env) -> torch.Tensor:
    return -env.sim.solver.energy


def fell(env) -> torch.Tensor:
    return env.sim.state_0.root_height < 0.3
