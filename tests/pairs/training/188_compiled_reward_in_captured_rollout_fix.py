"""The rollout is captured by hand, and the reward model it calls was compiled with graphs of its own."""

import torch
from torch import nn


def make_reward(width):
    net = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
    return torch.compile(net)


class World:
    def __init__(self, policy, reward, envs, width):
        self.policy, self.reward = policy, reward
        self.state = torch.zeros(envs, width, device="cuda")
        self.total = torch.zeros(envs, 1, device="cuda")

    @torch.no_grad()
    def advance(self):
        self.state.add_(self.policy(self.state), alpha=0.1)
        self.total.add_(self.reward(self.state))


class Imagination:
    def __init__(self, world, horizon):
        self.world, self.horizon = world, horizon

    def unroll(self):
        for _ in range(self.horizon):
            self.world.advance()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.unroll()
        torch.cuda.current_stream().wait_stream(side)
        self.world.state.zero_()
        self.world.total.zero_()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.unroll()


def main():
    imagination = Imagination(World(nn.Linear(8, 8).cuda(), make_reward(8), 32, 8), 5)
    imagination.capture()
    return imagination
