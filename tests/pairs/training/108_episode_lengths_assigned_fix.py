"""The learner spreads the first episodes by assigning random lengths to the environment; the graph of the
environment goes on counting in the old tensor. (The assignment is common in RL runners; isaac-sim/IsaacLab#4905
made the field a property that copies.)"""

import torch


class ManyEnvs:
    def __init__(self, n, limit=500):
        self.n, self.max_episode_length = n, limit
        self.obs = torch.zeros(n, 8, device="cuda")
        self.action = torch.zeros(n, 2, device="cuda")
        self._lengths = torch.zeros(n, dtype=torch.long, device="cuda")
        self.timeout = torch.zeros(n, dtype=torch.bool, device="cuda")
        self.graph = None

    @property
    def episode_length(self):
        return self._lengths

    @episode_length.setter
    def episode_length(self, value):
        self._lengths.copy_(value)

    def _physics(self):
        self.obs[:, :2].add_(self.action, alpha=0.1)
        self.episode_length.add_(1)
        torch.ge(self.episode_length, self.max_episode_length, out=self.timeout)
        self.obs.masked_fill_(self.timeout.unsqueeze(-1), 0.0)
        self.episode_length.masked_fill_(self.timeout, 0)

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._physics()
        torch.cuda.current_stream().wait_stream(side)
        self.episode_length.zero_()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._physics()

    def step(self, action):
        self.action.copy_(action)
        self.graph.replay()
        return self.obs.clone(), self.timeout.clone()


class Runner:
    def __init__(self, env, policy):
        self.env, self.policy = env, policy

    def learn(self, iterations, random_start=True):
        if random_start:
            lengths = torch.randint_like(self.env.episode_length, high=self.env.max_episode_length)
            self.env.episode_length = lengths
        obs = self.env.obs.clone()
        for _ in range(iterations):
            obs, _done = self.env.step(self.policy(obs))


def main(policy):
    env = ManyEnvs(4096)
    env.capture()
    Runner(env, policy).learn(1000)
