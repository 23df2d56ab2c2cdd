from __future__ import annotations

import torch

from . import terms
from .config import EnvCfg, TermCfg
from .managers import CommandManager, ObservationManager, RewardManager
from .simulation import Simulation

OBSERVATIONS = {
    "positions": TermCfg(terms.joint_positions),
    "velocities": TermCfg(terms.joint_velocities, params={"scale": 0.1}),
    "commands": TermCfg(terms.commands),
}
REWARDS = {
    "height": TermCfg(terms.height_reward, weight=2.0, params={"target": 0.9}),
    "effort": TermCfg(terms.effort_penalty, weight=0.001),
}


class RobotEnv:
    def __init__(self, cfg: EnvCfg) -> None:
        self.cfg = cfg
        self.device, self.num_envs = cfg.device, cfg.sim.num_envs
        self.sim = Simulation(cfg.sim, cfg.device)
        self.commands = CommandManager(self.num_envs, self.device)
        self.observations = ObservationManager(OBSERVATIONS, self)
        self.rewards = RewardManager(REWARDS, self)
        self.lengths = torch.zeros(self.num_envs, dtype=torch.int64, device=self.device)
        self.sim.capture()

    def step(self, actions: torch.Tensor):
        self.sim.control.targets.copy_(actions)
        self.sim.step()
        self.lengths += 1
        reward = self.rewards.compute()
        done = terms.fell(self) | (self.lengths >= self.cfg.episode_length)
        ids = done.nonzero().flatten()
        if len(ids) > 0:
            self.reset(ids)
        return self.observations.compute(), reward.clone(), done

    def reset(self, ids: torch.Tensor) -> None:
        self.sim.reset_envs(ids)
        self.commands.resample(ids)
        self.rewards.reset(ids)
        self.lengths[ids] = 0
