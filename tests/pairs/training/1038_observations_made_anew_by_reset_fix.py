"""Source: vectorised environments in the style of isaac-sim/IsaacLab, with a captured policy step.

Fixed: reset() fills the tensors that exist.
"""

import torch
from torch import nn


class VecEnv:
    def __init__(self, num_envs, obs_dim):
        self.num_envs, self.obs_dim = num_envs, obs_dim
        self.buffers = {"policy": torch.zeros(num_envs, obs_dim, device="cuda")}

    def reset(self):
        for group in self.buffers:
            self.buffers[group].zero_()
        return self.buffers["policy"]

    def step(self, actions):
        raise NotImplementedError


class PointMass(VecEnv):
    def reset(self):
        obs = super().reset()
        obs.uniform_(-1.0, 1.0)
        return obs

    def step(self, actions):
        obs = self.buffers["policy"]
        obs[:, :2].add_(actions, alpha=0.1)
        return obs, -obs[:, :2].norm(dim=1)


class Runner:
    def __init__(self, env: PointMass, policy: nn.Module):
        self.env, self.policy = env, policy.cuda().eval()

    def _act(self):
        return self.policy(self.env.buffers["policy"])

    @torch.no_grad()
    def compile(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self._act()
        torch.cuda.current_stream().wait_stream(s)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.actions = self._act()

    def episode(self, length):
        self.env.reset()
        total = torch.zeros(self.env.num_envs, device="cuda")
        for _ in range(length):
            self.graph.replay()
            _, reward = self.env.step(self.actions)
            total += reward
        return total.mean().item()


def evaluate(policy, episodes=10):
    runner = Runner(PointMass(64, 4), policy)
    runner.compile()
    return [runner.episode(200) for _ in range(episodes)]
