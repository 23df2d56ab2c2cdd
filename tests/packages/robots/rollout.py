from __future__ import annotations

import torch
from torch import nn

from .config import EnvCfg
from .env import RobotEnv


class Actor(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 256), nn.ELU(), nn.Linear(256, outputs))
        self.log_std = nn.Parameter(torch.zeros(outputs))

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        mean = self.net(obs)
        return mean + torch.exp(self.log_std) * torch.randn_like(mean)


class GraphedActor:
    def __init__(self, actor: Actor, num_envs: int, inputs: int, device: str) -> None:
        self.actor = actor
        self.obs = torch.zeros(num_envs, inputs, device=device)
        self.graph = torch.cuda.CUDAGraph()
        self.actions = None

    @torch.no_grad()
    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.actor(self.obs)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.actions = self.actor(self.obs)

    def __call__(self, obs: torch.Tensor) -> torch.Tensor:
        self.obs.copy_(obs)
        self.graph.replay()
        return self.actions


class RolloutBuffer:
    def __init__(self) -> None:
        self.steps: list[dict[str, torch.Tensor]] = []

    def add(self, **tensors: torch.Tensor) -> None:
        self.steps.append({name: tensor.clone() for name, tensor in tensors.items()})


def collect(cfg: EnvCfg, steps: int) -> RolloutBuffer:
    env = RobotEnv(cfg)
    inputs = 2 * cfg.sim.num_joints + 3
    actor = GraphedActor(Actor(inputs, cfg.sim.num_joints).to(cfg.device), env.num_envs, inputs, cfg.device)
    actor.capture()
    buffer = RolloutBuffer()
    obs = torch.zeros(env.num_envs, inputs, device=cfg.device)
    for _ in range(steps):
        actions = actor(obs)
        next_obs, reward, done = env.step(actions)
        buffer.add(obs=obs, actions=actions, reward=reward, done=done)
        obs = next_obs
    return buffer


if __name__ == "__main__":
    collect(EnvCfg(), 256)
