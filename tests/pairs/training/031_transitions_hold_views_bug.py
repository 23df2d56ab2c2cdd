"""A rollout collector stores transitions whose action and value are views of the graph's one output, so
that all entries show the last step."""

from collections import deque
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Transition:
    action: torch.Tensor
    value: torch.Tensor
    reward: torch.Tensor


class Agent:
    def __init__(self, net, envs, obs):
        self.net = net
        self.obs = torch.zeros(envs, obs, device="cuda")
        with torch.no_grad():
            s = torch.cuda.Stream()
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                for _ in range(2):
                    self.net(self.obs)
            torch.cuda.current_stream().wait_stream(s)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.net(self.obs)

    def act(self, obs):
        self.obs.copy_(obs)
        self.graph.replay()
        return self.out[:, :-1], self.out[:, -1]  # ALT: stale-output


def collect(agent, env, horizon):
    memory = deque(maxlen=horizon)
    obs = env.reset()
    for _ in range(horizon):
        action, value = agent.act(obs)  # ALT: stale-output
        obs, reward = env.step(action)
        memory.append(Transition(action, value, reward))  # HAZARD: stale-output
    return torch.stack([t.value for t in memory]), torch.stack([t.reward for t in memory])


def main(env):
    agent = Agent(nn.Linear(6, 3).cuda(), 16, 6)
    return collect(agent, env, 32)
