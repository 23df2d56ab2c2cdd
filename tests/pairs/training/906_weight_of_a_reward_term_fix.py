"""Drawn from the reward manager and the curriculum terms of isaac-sim/IsaacLab, with the rewards captured.

Fixed: the weights are in a tensor on the device that the curriculum writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch


@dataclass
class RewardTermCfg:
    func: Callable[..., torch.Tensor]
    weight: float
    params: dict = field(default_factory=dict)


def track_velocity(env, std: float) -> torch.Tensor:
    return torch.exp(-(env.command - env.base_vel).square().sum(1) / std**2)


def joint_torques_l2(env) -> torch.Tensor:
    return env.torques.square().sum(1)


def action_rate_l2(env) -> torch.Tensor:
    return (env.action - env.prev_action).square().sum(1)


class RewardManager:
    def __init__(self, cfg: dict[str, RewardTermCfg], env) -> None:
        self._env = env
        self._term_names = list(cfg)
        self._term_cfgs = list(cfg.values())
        self.weights = torch.tensor([c.weight for c in self._term_cfgs], device="cuda")
        self._reward_buf = torch.zeros(env.num_envs, device="cuda")
        self._episode_sums = {name: torch.zeros(env.num_envs, device="cuda") for name in cfg}

    def set_term_cfg(self, name: str, cfg: RewardTermCfg) -> None:
        index = self._term_names.index(name)
        self._term_cfgs[index] = cfg
        self.weights[index].fill_(cfg.weight)

    def get_term_cfg(self, name: str) -> RewardTermCfg:
        return self._term_cfgs[self._term_names.index(name)]

    def compute(self, dt: float) -> torch.Tensor:
        self._reward_buf.zero_()
        for index, (name, term_cfg) in enumerate(zip(self._term_names, self._term_cfgs)):
            value = term_cfg.func(self._env, **term_cfg.params)
            value = value * self.weights[index] * dt
            self._reward_buf += value
            self._episode_sums[name] += value
        return self._reward_buf


class Env:
    def __init__(self, num_envs: int, dofs: int, step_dt: float = 0.02) -> None:
        self.num_envs, self.step_dt = num_envs, step_dt
        self.command = torch.zeros(num_envs, 2, device="cuda")
        self.base_vel = torch.zeros(num_envs, 2, device="cuda")
        self.torques = torch.zeros(num_envs, dofs, device="cuda")
        self.action = torch.zeros(num_envs, dofs, device="cuda")
        self.prev_action = torch.zeros(num_envs, dofs, device="cuda")
        self.common_step_counter = 0
        terms = {
            "track": RewardTermCfg(track_velocity, 1.0, {"std": 0.5}),
            "torques": RewardTermCfg(joint_torques_l2, -1e-5),
            "rate": RewardTermCfg(action_rate_l2, -0.01),
        }
        self.reward_manager = RewardManager(terms, self)
        self._capture()

    def _physics(self) -> torch.Tensor:
        self.torques.copy_(20.0 * self.action - 0.5 * self.torques)
        self.base_vel.lerp_(self.torques[:, :2], 0.1)
        reward = self.reward_manager.compute(self.step_dt)
        self.prev_action.copy_(self.action)
        return reward

    def _capture(self) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._physics()
        torch.cuda.current_stream().wait_stream(stream)
        self.base_vel.zero_()
        self.torques.zero_()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self.reward = self._physics()

    def step(self, action: torch.Tensor):
        self.action.copy_(action)
        self._graph.replay()
        self.common_step_counter += 1
        return self.base_vel.clone(), self.reward.clone()


def modify_reward_weight(env: Env, term_name: str, weight: float, num_steps: int) -> None:
    if env.common_step_counter > num_steps:
        term_cfg = env.reward_manager.get_term_cfg(term_name)
        term_cfg.weight = weight
        env.reward_manager.set_term_cfg(term_name, term_cfg)


def train(policy, iterations: int) -> None:
    env = Env(4096, 12)
    obs = env.base_vel.clone()
    for _ in range(iterations):
        for _ in range(24):
            obs, _ = env.step(policy(obs))
        modify_reward_weight(env, "torques", -1e-4, num_steps=10_000)
